// The scene of a consent: a merchant with three locations, an application approved there, and
// people with tokens who are asked in their browsers.

import * as client from 'openid-client';
import { expect } from 'vitest';
import { approve } from '../../src/access/operator/applications.ts';
import { revoke } from '../../src/access/operator/credentials.ts';
import type { MerchantId, Scope } from '../../src/core/principal.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { type Environment, startEnvironment } from './environment.ts';
import type { GivenCredential } from './given.ts';
import {
  authorizationRequest,
  Browser,
  type GivenApplication,
  givenApplication,
  redirectUri,
} from './oauth.ts';

/** What the application was made and approved for. */
export const scopes: readonly Scope[] = ['inventory.read', 'locations.read', 'products.write'];

/** What it asks people for. */
export const ask = { scope: 'inventory.read locations.read' };

interface May {
  readonly scopes?: readonly string[];
  readonly locations?: 'all' | readonly string[];
}

export class ConsentEnvironment {
  readonly service: Environment;
  readonly operator: Database;
  readonly merchant: MerchantId;
  readonly shops: readonly string[];
  readonly made: GivenApplication;

  private constructor(
    service: Environment,
    operator: Database,
    merchant: MerchantId,
    shops: readonly string[],
    made: GivenApplication,
  ) {
    this.service = service;
    this.operator = operator;
    this.merchant = merchant;
    this.shops = shops;
    this.made = made;
  }

  static async start(): Promise<ConsentEnvironment> {
    const service = await startEnvironment();
    const operator = connectDatabase({ url: service.db.serviceUrl, writers: 2 });
    const merchant = (await service.given.merchant('Corner Shop')) as MerchantId;
    const shops: string[] = [];
    for (const name of ['Main Street', 'Harbour', 'Depot']) {
      shops.push(await service.given.location(merchant, { name }));
    }
    const made = await makeApplication(service, operator, merchant, 'all');
    return new ConsentEnvironment(service, operator, merchant, shops, made);
  }

  async close(): Promise<void> {
    await this.operator.close();
    await this.service.stop();
  }

  browser(): Browser {
    return new Browser(this.service.api.origin);
  }

  /** Another application, approved at the merchant. */
  application(locations: 'all' | readonly string[] = 'all'): Promise<GivenApplication> {
    return makeApplication(this.service, this.operator, this.merchant, locations);
  }

  /** A person's token; all scopes and locations unless told otherwise. */
  person(may: May = {}): Promise<GivenCredential> {
    return this.service.given.credential(this.merchant, may);
  }

  async foreignPerson(): Promise<GivenCredential> {
    return this.service.given.credential(await this.service.given.merchant('Other'));
  }

  async revokedPerson(): Promise<GivenCredential> {
    const giver = await this.person();
    await revoke(this.operator, giver.id);
    return giver;
  }

  /** The whole way: the page, the proof, the choice, and back to the application with a code. */
  async consent(
    giver: GivenCredential,
    locations: readonly string[],
    by: GivenApplication = this.made,
    parameters: Readonly<Record<string, string>> = ask,
  ) {
    const { url, exchange } = await authorizationRequest(by, parameters);
    const browser = this.browser();
    await browser.get(url);
    const chosen = await browser.submit([
      ['decision', 'prove'],
      ['token', giver.token],
    ]);
    const ticks = locations.map((id) => ['location', id] as const);
    const end = await browser.submit([['decision', 'allow'], ...ticks]);
    return { browser, chosen, end, back: browser.url, exchange: () => exchange(browser.url) };
  }
}

async function makeApplication(
  service: Environment,
  operator: Database,
  merchant: MerchantId,
  locations: 'all' | readonly string[],
): Promise<GivenApplication> {
  const redirectUris = [redirectUri];
  const one = await givenApplication(operator, service.api.origin, { scopes, redirectUris });
  await approve(operator, one.id, { merchant, scopes, locations });
  return one;
}

/** The error code with which an attempt was refused. */
export async function refusal(attempt: Promise<unknown>): Promise<string | undefined> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof client.AuthorizationResponseError) return error.error;
  expect(error).toBeInstanceOf(client.ResponseBodyError);
  return (error as client.ResponseBodyError).error;
}
