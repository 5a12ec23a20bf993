// Once a person has proved who he is, his request goes on under another name that only his browser
// is told. Whoever had planted the first one, with its cookies, has nothing to go on with.

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Interaction, Provider } from 'oidc-provider';
import { consentCookies, oauthPaths } from '../oauth/provider.ts';

/** Returns where the browser goes on. @throws SessionNotFound when it has gone on already. */
export async function renew(
  provider: Provider,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  interaction: Interaction,
  proof: object,
): Promise<string> {
  await interaction.destroy();
  const uid = randomBytes(32).toString('base64url');
  const back = `${oauthPaths.authorize}/${uid}`;
  const returnTo = new URL(back, interaction.returnTo).href;
  const left = interaction.exp - Math.floor(Date.now() / 1000);
  Object.assign(interaction, { jti: uid, returnTo, result: { proof } });
  await interaction.save(left);
  const path = `${oauthPaths.consent}/${uid}`;
  const { cookies } = provider.createContext(request, response);
  const attributes = { ...consentCookies.attributes, maxAge: left * 1000 };
  cookies.set(consentCookies.interaction, uid, { ...attributes, path });
  cookies.set(consentCookies.resume, uid, { ...attributes, path: back });
  return path;
}
