// The routes of signing in, for the page of the console: JSON, from the same origin only. The
// session is in a cookie that no script reads and no other site sends.

import type { FastifyRequest } from 'fastify';
import Type, { type Static, type TObject } from 'typebox';
import { ordinaryBody } from '../contract/contract.ts';
import { BodyParser } from '../contract/parse.ts';
import { nullable, text } from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { Problem } from '../core/problem.ts';
import { type CallerChecks, refuseToken } from '../http/authenticate.ts';
import { decodeBody } from '../http/gather.ts';
import type { Success } from '../http/respond.ts';
import type { SessionRoute } from '../http/server.ts';
import {
  isSecure,
  requireSameOrigin,
  sessionCookie,
  sessionToken,
} from '../http/session-cookie.ts';
import type { Session, SignIn } from './sign-in.ts';
import type { PersonRow } from './store.ts';

export interface SessionOptions {
  readonly signIn: SignIn;
  readonly callers: CallerChecks;
  /** Where people reach the service, when the operator said so. */
  readonly publicUrl: string | undefined;
}

const Password = text(
  'text',
  { min: limits.passwordLengthMin, max: limits.passwordLengthMax },
  'Of the person.',
);
const Invitation = Type.String({ maxLength: 64, description: 'As it is in the link.' });

const Answer = Type.String({
  maxLength: limits.passkeyAnswerMax,
  description: 'What the browser answered, as JSON.',
});

const forms = {
  look: Type.Object({ invitation: Invitation }),
  accept: Type.Object({
    invitation: Invitation,
    password: Type.Optional(nullable(Password)),
    passkey: Type.Optional(nullable(Answer)),
  }),
  passkey: Type.Object({ passkey: Answer }),
  signIn: Type.Object({
    merchant_id: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
    name: text('text', { min: 1, max: 255 }, 'Of the person.'),
    password: text('text', { min: 1, max: limits.passwordLengthMax }, 'Of the person.'),
  }),
  end: Type.Object({}),
} as const;

export function sessionRoutes(options: SessionOptions): readonly SessionRoute[] {
  const { signIn, publicUrl } = options;
  const post = <Form extends TObject>(
    path: string,
    form: Form,
    answer: (body: Static<Form>, request: FastifyRequest) => Promise<Success>,
  ): SessionRoute => {
    const parse = parserOf(form);
    return {
      method: 'POST',
      path,
      answer: async (request) => {
        requireSameOrigin(request, publicUrl);
        return answer(parse(request), request);
      },
    };
  };
  const begun = ({ person, token }: Session, request: FastifyRequest): Success => ({
    status: 201,
    data: shown(person),
    headers: { 'Set-Cookie': sessionCookie(token, isSecure(request, publicUrl)) },
  });
  return [
    { method: 'GET', path: '/console/session', answer: (request) => whoIs(options, request) },
    post('/console/session/invitation', forms.look, async ({ invitation }, request) => {
      const at = from(request);
      const { ends_at, ...person } = await signIn.look(invitation, at);
      const passkey_options = await signIn.passkeyFor(invitation, person, at);
      return { status: 200, data: { ...shown(person), expires_at: ends_at, passkey_options } };
    }),
    post('/console/session/accept', forms.accept, async ({ invitation, ...proof }, request) =>
      begun(await signIn.accept(invitation, oneOf(proof), from(request)), request),
    ),
    post('/console/session/passkey/challenge', forms.end, async (_, request) => ({
      status: 200,
      data: { passkey_options: await signIn.challenge(from(request)) },
    })),
    post('/console/session/passkey', forms.passkey, async ({ passkey }, request) =>
      begun(await signIn.signInByPasskey(passkey, from(request)), request),
    ),
    post('/console/session', forms.signIn, async ({ merchant_id = null, ...form }, request) =>
      begun(await signIn.signIn({ merchant_id, ...form }, from(request)), request),
    ),
    post('/console/session/end', forms.end, async (_, request) => {
      const { principal, token } = await admitted(options, request);
      await signIn.end(principal, token, from(request));
      const secure = isSecure(request, publicUrl);
      return { status: 200, data: {}, headers: { 'Set-Cookie': sessionCookie('', secure) } };
    }),
  ];
}

/** Who is signed in, and until when. */
async function whoIs(options: SessionOptions, request: FastifyRequest): Promise<Success> {
  requireSameOrigin(request, options.publicUrl);
  const { principal } = await admitted(options, request);
  const person = await options.signIn.personOf(principal);
  if (person === undefined) return refuseToken(options.callers.failures, request);
  return { status: 200, data: { ...shown(person), expires_at: principal.expiresAt } };
}

/** Of a POST, which has an Origin. */
const from = ({ ip: address, id: requestId, headers: { origin = '' } }: FastifyRequest) => ({
  ...{ address, requestId, origin },
});

/** @throws Problem when there are both, or none. */
function oneOf({ password, passkey }: { password?: string | null; passkey?: string | null }) {
  if (typeof password === 'string' && typeof passkey !== 'string') return { password };
  if (typeof passkey === 'string' && typeof password !== 'string') return { passkey };
  const message = 'is required, or a passkey is, and not both';
  const details = [{ field: 'password', code: 'required', message } as const];
  throw new Problem('validation_failed', { details });
}

async function admitted({ callers }: SessionOptions, request: FastifyRequest) {
  const token = sessionToken(request);
  const found =
    token === undefined ? undefined : await callers.authenticator.authenticate(token, undefined);
  if (token === undefined || found === undefined) return refuseToken(callers.failures, request);
  request.caller = found.principal;
  return { principal: found.principal, token };
}

function shown({ id, name, role, merchant_id, merchant_name }: PersonRow) {
  return { person: { id, name, role }, merchant: { id: merchant_id, name: merchant_name } };
}

/** @throws Problem for a body that cannot be used. */
function parserOf<Form extends TObject>(form: Form): (request: FastifyRequest) => Static<Form> {
  const parser = new BodyParser({ method: 'POST', body: form, data: Type.Object({}) });
  return (request) => {
    const body = decodeBody(request, ordinaryBody);
    const details = parser.faults(body);
    if (details.length > 0) throw new Problem('validation_failed', { details });
    return parser.normalise(body) as Static<Form>;
  };
}
