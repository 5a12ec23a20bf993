// How people sign in: with an invitation, once, which sets a password or a passkey; then with that.
// Each makes a session, a token that the browser keeps in a cookie: a new one each time, so that
// nobody can have planted it. Every wrong answer is the same, and takes as long.

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { appendAudit } from '../access/audit/store.ts';
import { nameKey } from '../access/person-name.ts';
import type { AddressLimit } from '../access/rate/address.ts';
import { hashToken, isInvitation, kept, mintToken } from '../access/token.ts';
import { commitAll } from '../access/transact.ts';
import { limits } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure, type Reader, type Statement, type Writer } from '../core/statement.ts';
import {
  countPasskey,
  findByPasskey,
  forgetChallenges,
  insertChallenge,
  insertPasskey,
  useChallenge,
} from './passkey-store.ts';
import {
  answeredBy,
  authenticationOptions,
  claimOf,
  hashChallenge,
  hasPasskeys,
  type PageOrigin,
  registered,
  registrationOptions,
} from './passkeys.ts';
import { hashPassword, isPassword } from './password.ts';
import {
  endSession,
  findByName,
  findInvited,
  findPerson,
  forgetSessions,
  forgetTries,
  insertSession,
  type PersonRow,
  setPassword,
  takeTry,
  useInvitation,
} from './store.ts';

/** From where, for the limits and the audit trail. */
export interface Origin extends PageOrigin {
  readonly address: string;
  readonly requestId: string;
}

export interface Session {
  readonly person: PersonRow;
  /** For the cookie alone. */
  readonly token: string;
}

export interface Credentials {
  /** Null: the one that has somebody with this name. */
  readonly merchant_id: string | null;
  readonly name: string;
  readonly password: string;
}

export class SignIn {
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #addresses: AddressLimit;

  constructor(reader: Reader, globalWriter: Writer, addresses: AddressLimit) {
    this.#addresses = addresses;
    this.#reader = reader;
    this.#writer = globalWriter;
  }

  /** Whom an invitation is for. It can still be used. @throws Problem */
  async look(invitation: string, from: Origin): Promise<PersonRow & { readonly ends_at: string }> {
    await this.#limit(from);
    const hash = isInvitation(invitation) ? hashToken(invitation) : undefined;
    const [found] = hash === undefined ? [] : await this.#reader.query(findInvited(hash));
    if (found === undefined) throw notInvited();
    return found;
  }

  /** What the browser makes a passkey with for an invitation; null where it makes none. */
  async passkeyFor(invitation: string, person: PersonRow, from: Origin): Promise<object | null> {
    return hasPasskeys(from) ? registrationOptions(person, invitation, from) : null;
  }

  /** Uses an invitation, once, for a password or a passkey. @throws Problem */
  async accept(
    invitation: string,
    proof: { readonly password: string } | { readonly passkey: string },
    from: Origin,
  ): Promise<Session> {
    const person = await this.look(invitation, from);
    const setting = await settingOf(person, invitation, proof, from);
    const first = [useInvitation(person, hashToken(invitation)), setting];
    const session = await this.#begin(person, 'person.join', from, first);
    if (session === undefined) throw notInvited();
    return session;
  }

  /** @throws Problem */
  async signIn({ merchant_id, name, password }: Credentials, from: Origin): Promise<Session> {
    await this.#limit(from);
    const key = nameKey(name);
    await this.#takeTry(merchant_id, key);
    const found = await this.#reader.query(findByName(merchant_id, key));
    const person = found.length === 1 ? found[0] : undefined;
    const isRight = await isPassword(password, person?.hash);
    const session =
      isRight && person !== undefined
        ? await this.#begin(person, 'person.sign_in', from, [forgetSessions(person)])
        : undefined;
    if (session === undefined) throw notSignedIn(ofPassword);
    return session;
  }

  /** What the browser asks its passkeys with. @throws Problem */
  async challenge(from: Origin): Promise<object> {
    await this.#limit(from);
    const { options, hash } = await authenticationOptions(from);
    await commitAll(this.#writer, [forgetChallenges, insertChallenge(hash)]);
    return options;
  }

  /** Signs in by the answer of a passkey, which counts once. @throws Problem */
  async signInByPasskey(response: string, from: Origin): Promise<Session> {
    await this.#limit(from);
    const claim = claimOf(response);
    if (claim === undefined) throw notSignedIn(ofPasskey);
    const [used] = await commitAll(this.#writer, [useChallenge(hashChallenge(claim.challenge))]);
    const [challenge] = (used ?? []) as readonly { readonly is_live: boolean }[];
    const [person] = await this.#reader.query(findByPasskey(claim.id));
    if (challenge?.is_live !== true || person === undefined) throw notSignedIn(ofPasskey);
    const { public_key: publicKey, counter: before } = person;
    const passkey = { id: claim.id, publicKey, counter: Number(before) };
    const counter = await answeredBy(passkey, response, claim.challenge, from);
    const first =
      counter === undefined
        ? []
        : [countPasskey(person, claim.id, counter), forgetSessions(person)];
    const session =
      counter === undefined ? undefined : await this.#begin(person, 'person.sign_in', from, first);
    if (session === undefined) throw notSignedIn(ofPasskey);
    return session;
  }

  async end({ merchant, credentialId }: Principal, token: string, from: Origin): Promise<void> {
    const tokenHash = hashToken(token);
    const entry = { merchant_id: merchant, credential_id: credentialId };
    await commitAll(this.#writer, [
      endSession(merchant, tokenHash),
      lineOf('person.sign_out', entry, from),
    ]);
  }

  async personOf({ merchant, credentialId }: Principal): Promise<PersonRow | undefined> {
    const [person] = await this.#reader.query(findPerson(merchant, credentialId));
    return person;
  }

  async #limit({ address }: Origin): Promise<void> {
    const refusal = await this.#addresses.refusal(address);
    if (refusal !== undefined) throw refusal;
  }

  /** By the name as it was given, whether or not somebody has it. @throws Problem rate_limited */
  async #takeTry(merchant: string | null, key: string): Promise<void> {
    const subject = createHash('sha256')
      .update(JSON.stringify([merchant, key]))
      .digest();
    const [, taken] = await commitAll(this.#writer, [forgetTries, takeTry(subject)]);
    if (taken?.length === 1) return;
    const message = 'Too many tries with this name. Wait, or ask for an invitation.';
    const headers = { 'Retry-After': String(limits.signInTryMinutes * 60) };
    throw new Problem('rate_limited', { message, headers });
  }

  /** Undefined when the person was revoked, or invited again, at this moment. */
  async #begin(
    person: PersonRow,
    action: string,
    from: Origin,
    first: readonly Statement[],
  ): Promise<Session | undefined> {
    const token = mintToken('ses');
    const entry = { merchant_id: person.merchant_id, credential_id: person.id };
    try {
      await commitAll(this.#writer, [
        ...first,
        insertSession(person, kept(token)),
        lineOf(action, entry, from),
      ]);
      return { person, token };
    } catch (error) {
      if (error instanceof DatabaseFailure && error.kind === 'refused') return undefined;
      throw error;
    }
  }
}

function lineOf(action: string, entry: object, { address, requestId }: Origin): Statement {
  const where = isIP(address) === 0 ? {} : { address };
  return appendAudit([{ entry: { action, ...entry, ...where, request_id: requestId }, age: 0 }]);
}

function notInvited(): Problem {
  const message = 'The invitation was used, or has ended. Ask for another one.';
  return new Problem('invalid_token', { message });
}

const ofPassword = 'The name or the password is not right.';
const ofPasskey = 'This passkey opens nothing here.';

function notSignedIn(message: string): Problem {
  return new Problem('invalid_token', { message });
}

async function settingOf(
  person: PersonRow,
  invitation: string,
  proof: { readonly password: string } | { readonly passkey: string },
  from: Origin,
): Promise<Statement> {
  if ('password' in proof) return setPassword(person, await hashPassword(proof.password));
  const passkey = await registered(proof.passkey, invitation, from);
  if (passkey === undefined) throw notSignedIn('This passkey was not made for the invitation.');
  return insertPasskey(person, passkey);
}
