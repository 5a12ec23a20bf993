// How people sign in: with an invitation, once, which sets a password; then with that. Each makes a
// session, a token that the browser keeps in a cookie: a new one each time, so that nobody can have
// planted it. Every wrong answer is the same, and takes as long.

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { appendAudit } from '../access/audit/store.ts';
import { nameKey } from '../access/person-name.ts';
import { AddressLimit } from '../access/rate/address.ts';
import { hashToken, isInvitation, kept, mintToken } from '../access/token.ts';
import { commitAll } from '../access/transact.ts';
import { limits } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure, type Reader, type Statement, type Writer } from '../core/statement.ts';
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
export interface Origin {
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
  readonly #addresses = new AddressLimit(
    limits.signInsPerMinute,
    'Too many tries to sign in from this address.',
  );

  constructor(reader: Reader, globalWriter: Writer) {
    this.#reader = reader;
    this.#writer = globalWriter;
  }

  /** Whom an invitation is for. It can still be used. @throws Problem */
  async look(invitation: string, from: Origin): Promise<PersonRow & { readonly ends_at: string }> {
    this.#limit(from);
    const hash = isInvitation(invitation) ? hashToken(invitation) : undefined;
    const [found] = hash === undefined ? [] : await this.#reader.query(findInvited(hash));
    if (found === undefined) throw notInvited();
    return found;
  }

  /** Uses an invitation. @throws Problem */
  async accept(invitation: string, password: string, from: Origin): Promise<Session> {
    const person = await this.look(invitation, from);
    const hash = hashToken(invitation);
    const made = await hashPassword(password);
    const first = [useInvitation(person, hash), setPassword(person, made)];
    const session = await this.#begin(person, 'person.join', from, first);
    if (session === undefined) throw notInvited();
    return session;
  }

  /** @throws Problem */
  async signIn({ merchant_id, name, password }: Credentials, from: Origin): Promise<Session> {
    this.#limit(from);
    const key = nameKey(name);
    await this.#takeTry(merchant_id, key);
    const found = await this.#reader.query(findByName(merchant_id, key));
    const person = found.length === 1 ? found[0] : undefined;
    const isRight = await isPassword(password, person?.hash);
    const session =
      isRight && person !== undefined
        ? await this.#begin(person, 'person.sign_in', from, [forgetSessions(person)])
        : undefined;
    if (session === undefined) throw notSignedIn();
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

  #limit({ address }: Origin): void {
    const refusal = this.#addresses.refusal(address);
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

function notSignedIn(): Problem {
  return new Problem('invalid_token', { message: 'The name or the password is not right.' });
}
