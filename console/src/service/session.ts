// Who is signed in, and the ways to get in and out. These routes are the page's own.

export interface Session {
  readonly person: { readonly id: string; readonly name: string; readonly role: string };
  readonly merchant: { readonly id: string; readonly name: string };
}

export interface Invited extends Session {
  readonly expires_at: string;
  /** Null where the browser makes no passkeys for this page. */
  readonly passkey_options: PublicKeyCredentialCreationOptionsJSON | null;
}

class SessionError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @throws SessionError with what the service says; status 0: no answer came. */
async function call<Data>(method: 'GET' | 'POST', path: string, body?: object): Promise<Data> {
  const answer = await fetch(`/console/session${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  }).catch(() => undefined);
  const content = await answer?.json().catch(() => undefined);
  if (answer?.ok && content !== undefined) return content.data;
  const reason = content?.error?.details?.[0]?.message ?? content?.error?.message;
  throw new SessionError(content === undefined ? 0 : (answer?.status ?? 0), reason ?? '');
}

/** Null: nobody is signed in. @throws SessionError */
export async function whoIsSignedIn(): Promise<Session | null> {
  try {
    return await call<Session>('GET', '');
  } catch (error) {
    if (error instanceof SessionError && error.status === 401) return null;
    throw error;
  }
}

export const signOut = () => call<object>('POST', '/end', {});

export const signIn = (form: {
  readonly merchant_id: string | null;
  readonly name: string;
  readonly password: string;
}) => call<Session>('POST', '', form);

export const lookAtInvitation = (invitation: string) =>
  call<Invited>('POST', '/invitation', { invitation });

export const acceptWithPassword = (invitation: string, password: string) =>
  call<Session>('POST', '/accept', { invitation, password });

/** Only where the page is a secure context. */
export const canUsePasskeys = (): boolean =>
  isSecureContext && typeof PublicKeyCredential?.parseRequestOptionsFromJSON === 'function';

/** @throws DOMException NotAllowedError when the person said no. */
export async function acceptWithPasskey(
  invitation: string,
  options: PublicKeyCredentialCreationOptionsJSON,
): Promise<Session> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const made = await navigator.credentials.create({ publicKey });
  return call<Session>('POST', '/accept', { invitation, passkey: JSON.stringify(made) });
}

/** @throws DOMException NotAllowedError when the person said no, or has none. */
export async function signInWithPasskey(): Promise<Session> {
  const { passkey_options } = await call<{
    readonly passkey_options: PublicKeyCredentialRequestOptionsJSON;
  }>('POST', '/passkey/challenge', {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(passkey_options);
  const answer = await navigator.credentials.get({ publicKey });
  return call<Session>('POST', '/passkey', { passkey: JSON.stringify(answer) });
}
