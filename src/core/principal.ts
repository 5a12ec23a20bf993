// Who calls, and what they may do. Merchant and granted location are branded types that no code
// makes from text: a merchant ID comes from a row of the database, a granted location from the
// check of a credential (`access/principal.ts`). Store functions ask for the brand, so that no
// statement runs for a merchant or a location that was not checked.

/** What a credential may do. Resources declare theirs; `resources.ts` has all. */
export type Scope = `${string}.${'read' | 'write'}`;

export type MerchantId = string & { readonly __brand: 'MerchantId' };
export type GrantedLocationId = string & { readonly __brand: 'GrantedLocationId' };

export const credentialKinds = ['personal_access_token', 'oauth_access_token'] as const;

export type CredentialKind = (typeof credentialKinds)[number];

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
  readonly credentialName: string;
  readonly kind: CredentialKind;
  /** Of a person; null of whatever a program calls with. */
  readonly role: string | null;
  readonly application: { readonly id: string; readonly name: string } | null;
  readonly scopes: ReadonlySet<string>;
  /** What its token was limited to; null: all that its credential may. */
  readonly tokenScopes: readonly string[] | null;
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

/** Whether the credential has a location that is known to exist. */
export function canReach(principal: Principal, locationId: string): boolean {
  return principal.locations === 'all' || principal.locations.some((id) => id === locationId);
}

/** What the actor of a write looks like in the records it leaves. */
export interface Actor {
  readonly credential_id: string;
  readonly name: string;
  readonly kind: CredentialKind;
  readonly application_id: string | null;
}

export function actorOf(principal: Principal): Actor {
  return {
    credential_id: principal.credentialId,
    name: principal.credentialName,
    kind: principal.kind,
    application_id: principal.application?.id ?? null,
  };
}
