// The client credentials grant (RFC 6749, section 4.4): a token for an application itself, at one
// merchant that it is approved at. A request for more than its approval is refused; nothing is left
// out without an error.

import type { errors as Errors, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Reader } from '../core/statement.ts';
import { accessTokenLife } from './adapter.ts';
import { findLiveApprovals, type LiveApproval } from './token-store.ts';

export const clientCredentialsParameters = ['scope', 'merchant_id'];

export function clientCredentialsHandler(
  provider: Provider,
  errors: typeof Errors,
  reader: Reader,
): (context: KoaContextWithOIDC) => Promise<void> {
  return async (context) => {
    const { client, params } = context.oidc;
    if (client === undefined) throw new errors.InvalidClient('it is not known');
    const merchant = textOf(params?.merchant_id);
    const approvals = await reader.query(findLiveApprovals(client.clientId, merchant ?? null));
    const approval = theOne(approvals, merchant, errors);
    const scopes = scopesOf(textOf(params?.scope), approval, errors);
    const scope = scopes.join(' ');
    const token = new provider.ClientCredentials({ client, scope });
    context.oidc.entity('ClientCredentials', token);
    // The merchant that the token is for: the library asks for it while it saves.
    context.state.approval = approval;
    context.body = {
      access_token: await token.save(),
      expires_in: accessTokenLife,
      token_type: 'Bearer',
      scope,
    };
  };
}

function textOf(parameter: unknown): string | undefined {
  return typeof parameter === 'string' ? parameter : undefined;
}

function theOne(
  approvals: readonly LiveApproval[],
  merchant: string | undefined,
  errors: typeof Errors,
): LiveApproval {
  const [approval, another] = approvals;
  if (another !== undefined) {
    throw new errors.InvalidRequest(
      'the application is approved at several merchants: name one with merchant_id',
    );
  }
  if (approval === undefined) {
    const where = merchant === undefined ? 'at any merchant' : 'at this merchant';
    throw new errors.UnauthorizedClient(`the application is not approved ${where}`);
  }
  return approval;
}

function scopesOf(
  asked: string | undefined,
  approval: LiveApproval,
  errors: typeof Errors,
): readonly string[] {
  if (asked === undefined) return approval.scopes;
  const scopes = [...new Set(asked.split(' '))];
  const beyond = scopes.filter((scope) => !approval.scopes.includes(scope));
  if (beyond.length === 0) return scopes;
  throw new errors.InvalidScope('not approved for the application here', beyond.join(' '));
}
