// Who calls, and what they may reach. Merchant and granted location are branded: a store function
// asks for the brand, and only authentication (for the merchant) and the functions below (for
// locations) give it, so a statement cannot run for a merchant or a location nobody proved.

export const scopes = [
  'customers.read',
  'customers.write',
  'products.read',
  'products.write',
  'locations.read',
  'locations.write',
  'inventory.read',
  'inventory.write',
  'operations.read',
  'events.read',
  'webhooks.read',
  'webhooks.write',
] as const;

export type Scope = (typeof scopes)[number];

export type MerchantId = string & { readonly __brand: 'MerchantId' };
export type GrantedLocationId = string & { readonly __brand: 'GrantedLocationId' };

export type CredentialKind = 'personal_access_token' | 'oauth_access_token';

/** So many requests a minute, and at most `burst` of them at once. */
export interface RateLimit {
  readonly perMinute: number;
  readonly burst: number;
}

/** The caller behind one request, read from the database for this request alone. */
export interface Principal {
  readonly merchant: MerchantId;
  readonly merchantName: string;
  readonly credentialId: string;
  readonly kind: CredentialKind;
  readonly application: { readonly id: string; readonly name: string } | null;
  readonly scopes: ReadonlySet<string>;
  /** All locations, those to come included, or exactly these. */
  readonly locations: 'all' | readonly GrantedLocationId[];
  /** RFC 3339, or null for a credential that does not expire. */
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  /** Null: there is none. */
  readonly rateLimit: RateLimit | null;
  /** Of the merchant as a whole. */
  readonly merchantRateLimit: RateLimit | null;
}

/** Whether the credential reaches a location whose existence is known (a row's, or its own). */
export function canReach(principal: Principal, locationId: string): boolean {
  return principal.locations === 'all' || principal.locations.some((id) => id === locationId);
}

/** What the actor of a write looks like in the records it leaves. */
export interface Actor {
  readonly credential_id: string;
  readonly kind: CredentialKind;
  readonly application_id: string | null;
}

export function actorOf(principal: Principal): Actor {
  return {
    credential_id: principal.credentialId,
    kind: principal.kind,
    application_id: principal.application?.id ?? null,
  };
}
