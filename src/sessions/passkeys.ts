// Passkeys, as a library reads them. What is asked of one is bound to the name that people reach
// the service by. An invitation is its own challenge, because it is used once; for a sign-in each
// challenge is kept until it is answered, once.

import { createHash, randomBytes } from 'node:crypto';
import type { Passkey } from './passkey-store.ts';
import type { PersonRow } from './store.ts';

/** The origin that the browser is at, which the request has shown. */
export interface PageOrigin {
  readonly origin: string;
}

const library = () => import('@simplewebauthn/server');

/** Browsers have passkeys where a page cannot have been changed on its way. */
export function hasPasskeys({ origin }: PageOrigin): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
}

const rpIdOf = ({ origin }: PageOrigin) => new URL(origin).hostname;

/** What nobody knows who does not have the invitation, and what is no part of it. */
function challengeOf(invitation: string): string {
  return createHash('sha256').update(`passkey ${invitation}`).digest('base64url');
}

/** What the browser makes a passkey with. */
export async function registrationOptions(
  person: PersonRow,
  invitation: string,
  place: PageOrigin,
): Promise<object> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: `Tallybook: ${person.merchant_name}`,
    rpID: rpIdOf(place),
    userID: new Uint8Array(Buffer.from(person.id)),
    userName: person.name,
    userDisplayName: person.name,
    challenge: new Uint8Array(Buffer.from(challengeOf(invitation), 'base64url')),
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** Undefined: it is no answer to this invitation at this place. */
export async function registered(
  response: string,
  invitation: string,
  place: PageOrigin,
): Promise<Passkey | undefined> {
  const { verifyRegistrationResponse } = await library();
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: JSON.parse(response),
      expectedChallenge: challengeOf(invitation),
      expectedOrigin: place.origin,
      expectedRPID: rpIdOf(place),
      requireUserVerification: true,
    });
    if (!verified) return undefined;
    const { id, publicKey, counter } = registrationInfo.credential;
    return { id, publicKey: Buffer.from(publicKey), counter };
  } catch {
    // The library throws for whatever is not as it must be.
    return undefined;
  }
}

/** A new challenge, and what the browser asks its passkeys with. */
export async function authenticationOptions(place: PageOrigin) {
  const { generateAuthenticationOptions } = await library();
  const challenge = randomBytes(32);
  const options = await generateAuthenticationOptions({
    rpID: rpIdOf(place),
    challenge: new Uint8Array(challenge),
    userVerification: 'required',
  });
  return { options, hash: hashChallenge(challenge.toString('base64url')) };
}

export function hashChallenge(challenge: string): Buffer {
  return createHash('sha256').update(challenge).digest();
}

/** What an answer says it is: nothing of it is proved yet. */
export function claimOf(response: string): { id: string; challenge: string } | undefined {
  try {
    const { id, response: inner } = JSON.parse(response);
    const client = JSON.parse(Buffer.from(inner.clientDataJSON, 'base64url').toString());
    const isClaim = typeof id === 'string' && typeof client.challenge === 'string';
    return isClaim ? { id, challenge: client.challenge } : undefined;
  } catch {
    return undefined;
  }
}

/** How far the passkey has counted; undefined: it did not answer this challenge at this place. */
export async function answeredBy(
  passkey: Passkey,
  response: string,
  challenge: string,
  place: PageOrigin,
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await library();
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: JSON.parse(response),
      expectedChallenge: challenge,
      expectedOrigin: place.origin,
      expectedRPID: rpIdOf(place),
      credential: { ...passkey, publicKey: new Uint8Array(passkey.publicKey) },
      requireUserVerification: true,
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}
