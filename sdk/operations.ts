// Generated from openapi.json by scripts/client.ts. Do not edit.

import type { CallOptions, ChangeOptions, WriteOptions } from './options.ts';
import type { Pages, Result } from './result.ts';

/** The codes of this version of the interface. There will be more. */
export type KnownCode =
  | 'malformed_request'
  | 'idempotency_key_required'
  | 'idempotency_key_invalid'
  | 'invalid_json'
  | 'missing_parameter'
  | 'invalid_parameter'
  | 'unknown_parameter'
  | 'journal_mismatch'
  | 'invalid_cursor'
  | 'authentication_required'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'location_not_granted'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_timeout'
  | 'webhook_secret_unreadable'
  | 'idempotency_key_reused'
  | 'resource_erased'
  | 'version_retired'
  | 'precondition_failed'
  | 'content_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'validation_failed'
  | 'inventory_no_change'
  | 'inventory_quantity_mismatch'
  | 'insufficient_quantity'
  | 'reservation_not_active'
  | 'product_not_found'
  | 'product_archived'
  | 'inventory_not_tracked'
  | 'location_inactive'
  | 'sku_taken'
  | 'code_taken'
  | 'external_id_taken'
  | 'name_taken'
  | 'last_owner'
  | 'access_ended'
  | 'token_of_application'
  | 'webhook_limit_reached'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal_error'
  | 'operation_in_progress'
  | 'service_unavailable'
  | 'timeout';

/** What became of each write. */
export interface Batch {
  /** That of its operation. */
  id: string;
  /** One for each write, in the order of the request. */
  results: BatchResult[];
}

/** The answer to one write of a batch. */
export interface BatchResult {
  /** What its own request would be answered. */
  status: number;
  /** What was written; absent when it was refused. */
  data?: {
    [name: string]: unknown;
  };
  /** Why it was refused, as in the answer to its own request. */
  error?: {
    [name: string]: unknown;
  };
  meta: {
    /** The request of the batch. */
    request_id: string;
    /** What its key is bound to. */
    operation_id?: string;
    /** Its place in the journal. */
    position?: string;
    /** The journal of that position. */
    journal?: string;
    /** Its key was used before: nothing was done this time. */
    replayed?: true;
    /** Seconds to wait before sending it again. */
    retry_after?: number;
  };
}

/** The credential that sent the request. */
export interface Credential {
  /** Stays the same when the token is rotated. */
  id: string;
  /** What the token is. */
  kind: 'personal_access_token' | 'oauth_access_token';
  /** Of a person; null of what a program calls with. */
  role: 'owner' | 'keeper' | 'cashier' | 'viewer' | null;
  /** The merchant whose records the credential reaches. */
  merchant: {
    /** Its ID. */
    id: string;
    name: string;
  };
  /** The OAuth application that acts. */
  application: {
    /** Its ID. */
    id: string;
    name: string;
  } | null;
  /** What the credential may do. */
  scopes: (
    | 'customers.read'
    | 'customers.write'
    | 'products.read'
    | 'products.write'
    | 'locations.read'
    | 'locations.write'
    | 'inventory.read'
    | 'inventory.write'
    | 'operations.read'
    | 'events.read'
    | 'webhooks.read'
    | 'webhooks.write'
    | 'access.read'
    | 'access.write'
  )[];
  /** The granted locations: "all", those to come included, or their IDs. */
  locations: 'all' | string[];
  /** When the token ends. */
  expires_at: string | null;
  /** When it was last used, to a quarter of an hour. */
  last_used_at: string | null;
  /** The limit of this credential; null when there is none. */
  rate_limit: {
    requests_per_minute: number;
    burst: number;
  } | null;
}

/** Somebody the merchant sells to. */
export interface Customer {
  /** Its ID. */
  id: string;
  /** What the customer is called. */
  name: string;
  /** The e-mail address, as it was sent. */
  email: string;
  /** The telephone number in E.164 form. */
  phone: string | null;
  /** The ID in the caller's own system. */
  external_id: string | null;
  /** What the staff should know. */
  note: string | null;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata: {
    [name: string]: string;
  };
  /** Archived customers stay readable and keep their external ID. */
  status: 'active' | 'archived';
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When it was created. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
}

export interface DayPageMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** Where the next page starts. Absent when nothing follows. */
  next_cursor?: string;
  /** By which days begin and end. */
  timezone: string;
}

/** Every error has this form. Branch on `error.code`, and tolerate new ones. */
export interface Error {
  error: {
    /** Stable; branch on it. */
    code:
      | 'malformed_request'
      | 'idempotency_key_required'
      | 'idempotency_key_invalid'
      | 'invalid_json'
      | 'missing_parameter'
      | 'invalid_parameter'
      | 'unknown_parameter'
      | 'journal_mismatch'
      | 'invalid_cursor'
      | 'authentication_required'
      | 'invalid_token'
      | 'insufficient_scope'
      | 'location_not_granted'
      | 'not_found'
      | 'method_not_allowed'
      | 'not_acceptable'
      | 'request_timeout'
      | 'webhook_secret_unreadable'
      | 'idempotency_key_reused'
      | 'resource_erased'
      | 'version_retired'
      | 'precondition_failed'
      | 'content_too_large'
      | 'uri_too_long'
      | 'unsupported_media_type'
      | 'expectation_failed'
      | 'validation_failed'
      | 'inventory_no_change'
      | 'inventory_quantity_mismatch'
      | 'insufficient_quantity'
      | 'reservation_not_active'
      | 'product_not_found'
      | 'product_archived'
      | 'inventory_not_tracked'
      | 'location_inactive'
      | 'sku_taken'
      | 'code_taken'
      | 'external_id_taken'
      | 'name_taken'
      | 'last_owner'
      | 'access_ended'
      | 'token_of_application'
      | 'webhook_limit_reached'
      | 'rate_limited'
      | 'headers_too_large'
      | 'internal_error'
      | 'operation_in_progress'
      | 'service_unavailable'
      | 'timeout'
      | (string & {});
    /** For people; it may change. */
    message: string;
    /** Whether the very same request, with the same key, may succeed later. */
    retryable: boolean;
    /** The page that explains the code. */
    doc_url: string;
    /** Everything that is wrong, at once; may be empty. */
    details: ErrorDetail[];
  };
  meta: ErrorMeta;
}

/** What is wrong in one place. Some codes come with further members. */
export interface ErrorDetail {
  /** Where: a path such as `target_quantity`, `query.limit` or `header.if-match`. */
  field?: string;
  /** Why it is refused; stable. */
  code:
    | 'required'
    | 'unknown_field'
    | 'read_only'
    | 'invalid_type'
    | 'invalid_format'
    | 'value_not_allowed'
    | 'unknown_value'
    | 'invalid_email'
    | 'too_short'
    | 'too_long'
    | 'too_many'
    | 'too_large'
    | 'must_not_be_negative'
    | 'must_be_positive'
    | 'repeated'
    | 'too_many_decimal_places'
    | 'not_repeatable'
    | 'malformed'
    | 'filter_mismatch'
    | 'malformed_request'
    | 'idempotency_key_required'
    | 'idempotency_key_invalid'
    | 'invalid_json'
    | 'missing_parameter'
    | 'invalid_parameter'
    | 'unknown_parameter'
    | 'journal_mismatch'
    | 'invalid_cursor'
    | 'authentication_required'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'location_not_granted'
    | 'not_found'
    | 'method_not_allowed'
    | 'not_acceptable'
    | 'request_timeout'
    | 'webhook_secret_unreadable'
    | 'idempotency_key_reused'
    | 'resource_erased'
    | 'version_retired'
    | 'precondition_failed'
    | 'content_too_large'
    | 'uri_too_long'
    | 'unsupported_media_type'
    | 'expectation_failed'
    | 'validation_failed'
    | 'inventory_no_change'
    | 'inventory_quantity_mismatch'
    | 'insufficient_quantity'
    | 'reservation_not_active'
    | 'product_not_found'
    | 'product_archived'
    | 'inventory_not_tracked'
    | 'location_inactive'
    | 'sku_taken'
    | 'code_taken'
    | 'external_id_taken'
    | 'name_taken'
    | 'last_owner'
    | 'access_ended'
    | 'token_of_application'
    | 'webhook_limit_reached'
    | 'rate_limited'
    | 'headers_too_large'
    | 'internal_error'
    | 'operation_in_progress'
    | 'service_unavailable'
    | 'timeout'
    | (string & {});
  /** The same for people. */
  message: string;
  [name: string]: unknown;
}

export interface ErrorMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** The identity of this write, the same on a replay. */
  operation_id?: string;
}

/** One write that changed something. */
export interface Event {
  /** Its ID, the same at every reading. */
  id: string;
  /** Its place in the journal. */
  position: string;
  /** What happened. There will be more: ignore those you do not know. */
  type:
    | 'customer.created'
    | 'customer.updated'
    | 'customer.erased'
    | 'product.created'
    | 'product.updated'
    | 'location.created'
    | 'location.updated'
    | 'inventory.adjusted'
    | 'inventory.transferred'
    | 'inventory.counted'
    | 'inventory.reserved'
    | 'inventory.released'
    | 'inventory.fulfilled'
    | 'inventory.expired'
    | (string & {});
  /** When. Never before the event that precedes it. */
  occurred_at: string;
  /** The write that did it. */
  operation_id: string;
  /** Who did it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** What was written. */
  resource: {
    /** What kind of resource. */
    type:
      | 'customer'
      | 'product'
      | 'location'
      | 'inventory_movement'
      | 'inventory_transfer'
      | 'inventory_count'
      | 'inventory_reservation'
      | (string & {});
    /** Its ID; of movements the first. */
    id: string;
    /** That of `data`. Null for movements, and once the record is erased. */
    version: number | null;
  };
  /** Where it happened, as far as these locations are granted; often nowhere. */
  location_ids: string[];
  /**
   * Of an event of inventory its movements, which never change. Of a record what it is
   * when the event is read, as GET shows it; null once it is erased.
   */
  data: Customer | Product | Location | InventoryEventData | null;
}

export interface EventPageMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** Where the next page starts. Absent when nothing follows. */
  next_cursor?: string;
  /** Everything up to here was judged: go on behind it. */
  through_position: string;
  /** The journal of that position. */
  journal: string;
}

/** The movement, with the level as it is now. */
export interface InventoryAdjustment {
  /** Within a level, the order of IDs is the order of sequences. */
  id: string;
  /** Per level, from 1, without gaps. */
  sequence: number;
  /** The product. */
  product_id: string;
  /** The location. */
  location_id: string;
  /** What kind of movement. */
  type: 'adjustment' | 'transfer_in' | 'transfer_out' | 'count' | 'fulfilment' | (string & {});
  /** Why, in the words of the write that recorded it. */
  reason:
    | 'stock_count'
    | 'external_adjustment'
    | 'correction'
    | 'transfer'
    | 'sale'
    | 'return'
    | 'receipt'
    | 'damage'
    | 'loss'
    | 'production'
    | 'other';
  /** The quantity before. */
  quantity_before: string;
  /** The change; never 0. */
  quantity_delta: string;
  /** The quantity after. */
  quantity_after: string;
  /** What the caller noted. */
  note: string | null;
  /** What it is called in the system of the caller. */
  reference: string | null;
  /** The write that recorded it. */
  operation_id: string;
  /** That of this write in the journal. */
  position: string;
  /** Its place among the movements of the write. */
  line: number;
  /** Who recorded it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** When. Never before the movement that precedes it. */
  recorded_at: string;
  level: InventoryLevel;
}

/** What was counted together. It never changes. */
export interface InventoryCount {
  /** Its ID. */
  id: string;
  /** Where it was. */
  location_id: string;
  /** What the caller noted. */
  note: string | null;
  /** What it is called in the system of the caller. */
  reference: string | null;
  /** What was counted, in the order of the request. */
  lines: {
    /** The product. */
    product_id: string;
    /** What was found. */
    counted_quantity: string;
    /** What should have been there. */
    expected_quantity: string | null;
    /** What it was counted after; null: after all. */
    counted_at_position: string | null;
    /** Whether the level was another one. */
    outcome: 'changed' | 'unchanged';
    /** The level before. */
    quantity_before: string;
    /** The level after: what was found, and what has moved since. */
    quantity_after: string;
    /** The movement that changed the level. */
    movement_id: string | null;
  }[];
  /** The write that recorded it. */
  operation_id: string;
  /** That of this write in the journal. */
  position: string;
  /** Who recorded it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** When. */
  recorded_at: string;
}

/** What the movements of a day came to, by reason. */
export interface InventoryDay {
  /** The day, by the clocks of the location. */
  date: string;
  /** How many there were. */
  movements: number;
  /** Those that the day had, by name. */
  reasons: {
    /** Of the movements. */
    reason:
      | 'stock_count'
      | 'external_adjustment'
      | 'correction'
      | 'transfer'
      | 'sale'
      | 'return'
      | 'receipt'
      | 'damage'
      | 'loss'
      | 'production'
      | 'other';
    /** How many had this reason. */
    movements: number;
    /** What they added, as one sum over all products. */
    quantity_in: string;
    /** What they took away; not negative. */
    quantity_out: string;
  }[];
}

/** The movements at granted locations. */
export interface InventoryEventData {
  /** The first movements. Read more by `GET /inventory/movements?operation_id=…`. */
  movements: InventoryMovement[];
  /** How many there are. */
  movement_count: number;
  /** The first lines of a transfer that were not there as a whole. */
  short?: {
    /** Where it was taken. */
    location_id: string;
    /** The product. */
    product_id: string;
    /** How much was to be taken. */
    quantity: string;
    /** How much of it was not there. */
    quantity_short: string;
  }[];
  /**
   * Where the write took what is available from above `low_stock_at` to it or below.
   * Absent: nowhere.
   */
  low_stock?: {
    /** The product. */
    product_id: string;
    /** Where it runs out. */
    location_id: string;
    /** What was available after the write. */
    available_quantity: string;
    /** What the product said is low. */
    low_stock_at: string;
  }[];
  /** What the reservation holds, or held. */
  reservation_lines?: {
    /** Where it was put aside. */
    location_id: string;
    /** The product. */
    product_id: string;
    /** How much. */
    quantity: string;
  }[];
}

/** How much of a product is at a location. */
export interface InventoryLevel {
  /** The product. */
  product_id: string;
  /** The location. */
  location_id: string;
  /** The quantity on hand. */
  quantity: string;
  /** How much of it is put aside by reservations, now. Null as of a moment. */
  reserved_quantity: string | null;
  /** What is on hand and not put aside; below 0 when that is less. */
  available_quantity: string | null;
  /** The sequence of the last movement. */
  version: number;
  /** The movement that made it so. */
  last_movement_id: string;
  /** When that movement was recorded. */
  updated_at: string;
  /** When its last count was recorded; null: never. Null as of a moment. */
  counted_at: string | null;
  /** The credential that recorded that count. */
  counted_by: string | null;
}

/** A fact: immutable, and one of a chain without gaps. */
export interface InventoryMovement {
  /** Within a level, the order of IDs is the order of sequences. */
  id: string;
  /** Per level, from 1, without gaps. */
  sequence: number;
  /** The product. */
  product_id: string;
  /** The location. */
  location_id: string;
  /** What kind of movement. */
  type: 'adjustment' | 'transfer_in' | 'transfer_out' | 'count' | 'fulfilment' | (string & {});
  /** Why, in the words of the write that recorded it. */
  reason:
    | 'stock_count'
    | 'external_adjustment'
    | 'correction'
    | 'transfer'
    | 'sale'
    | 'return'
    | 'receipt'
    | 'damage'
    | 'loss'
    | 'production'
    | 'other';
  /** The quantity before. */
  quantity_before: string;
  /** The change; never 0. */
  quantity_delta: string;
  /** The quantity after. */
  quantity_after: string;
  /** What the caller noted. */
  note: string | null;
  /** What it is called in the system of the caller. */
  reference: string | null;
  /** The write that recorded it. */
  operation_id: string;
  /** That of this write in the journal. */
  position: string;
  /** Its place among the movements of the write. */
  line: number;
  /** Who recorded it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** When. Never before the movement that precedes it. */
  recorded_at: string;
}

/** What is put aside together, such as for an order. */
export interface InventoryReservation {
  /** Its ID. */
  id: string;
  /** Where it is put aside. */
  location_id: string;
  /**
   * Only what is active counts. One whose time has come is `expired` at once, and told
   * as an event soon after.
   */
  status: 'active' | 'fulfilled' | 'released' | 'expired';
  /** When it ends by itself, by the clock of the database. Null: never. */
  expires_at: string | null;
  /** What the caller noted. */
  note: string | null;
  /** What it is called in the system of the caller. */
  reference: string | null;
  /** What is put aside, as it was asked for. */
  lines: {
    /** The product. */
    product_id: string;
    /** How much of it. */
    quantity: string;
  }[];
  /** The write that made it. */
  operation_id: string;
  /** Who made it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** When. */
  recorded_at: string;
  /** The write that ended it. */
  end_operation_id: string | null;
  /** When that was. */
  ended_at: string | null;
  /** What the caller noted at its end. */
  end_note: string | null;
  /** What took it out, in the order of the lines, once it is fulfilled. */
  movement_ids: string[];
}

/** What moved together. It never changes. */
export interface InventoryTransfer {
  /** Its ID. */
  id: string;
  /**
   * Where it comes from; null: from the outside. Null also for a location that is not
   * granted: the reason of these is `transfer`.
   */
  from_location_id: string | null;
  /**
   * Where it goes to; null: to the outside. Null also for a location that is not
   * granted: the reason of these is `transfer`.
   */
  to_location_id: string | null;
  /** Why. `transfer` between two locations; with the outside one of the others. */
  reason: 'transfer' | 'sale' | 'return' | 'receipt' | 'damage' | 'loss' | 'production' | 'other';
  /** What the caller noted. */
  note: string | null;
  /** What it is called in the system of the caller. */
  reference: string | null;
  /** What moved, as it was asked for. */
  lines: {
    /** The product. */
    product_id: string;
    /** How much should move. */
    quantity: string;
    /** How much of it was not there, and did not move; `0` as a rule. */
    quantity_short: string;
    /** The movement that took it out. */
    out_movement_id: string | null;
    /** The movement that brought it in. */
    in_movement_id: string | null;
  }[];
  /** Whether something of it was not there. */
  is_short: boolean;
  /** The write that recorded it. */
  operation_id: string;
  /** That of this write in the journal. */
  position: string;
  /** Who recorded it. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** When. */
  recorded_at: string;
}

export interface LevelPageMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** Where the next page starts. Absent when nothing follows. */
  next_cursor?: string;
  /** The levels are those after this operation. */
  as_of_position?: string;
  /** The journal of that position. */
  journal?: string;
}

/** A place where the merchant keeps products. */
export interface Location {
  /** Its ID. */
  id: string;
  /** What the location is called. */
  name: string;
  /** A short code. */
  code: string | null;
  /** What kind of place. */
  type: 'other' | 'store' | 'warehouse' | (string & {});
  /** Nothing is adjusted at an inactive location; it keeps its code. */
  status: 'active' | 'inactive';
  /** An IANA time zone. */
  timezone: string;
  /** The ID in the caller's own system. */
  external_id: string | null;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata: {
    [name: string]: string;
  };
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When it was created. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
}

export interface Meta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
}

export interface MovementPageMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** Where the next page starts. Absent when nothing follows. */
  next_cursor?: string;
  /** With `order=asc`: go on behind it. */
  through_position?: string;
  /** The journal of that position. */
  journal?: string;
}

/** One write, performed or refused once and for all. */
export interface Operation {
  /** Its ID, as meta.operation_id gave it. */
  id: string;
  /** Which write. */
  type:
    | 'customers.create'
    | 'customers.update'
    | 'customers.upsert'
    | 'customers.erase'
    | 'products.create'
    | 'products.update'
    | 'products.upsert'
    | 'locations.create'
    | 'locations.update'
    | 'locations.upsert'
    | 'inventory.adjust'
    | 'inventory.transfer'
    | 'inventory.count'
    | 'inventory.reserve'
    | 'inventory.release'
    | 'inventory.fulfil'
    | 'inventory.expire'
    | 'batches.submit'
    | 'webhooks.create'
    | 'webhooks.update'
    | 'webhooks.test'
    | 'webhooks.redeliver'
    | 'people.invite'
    | 'people.update'
    | 'people.invite_again'
    | 'tokens.create'
    | 'tokens.update'
    | 'tokens.rotate'
    | (string & {});
  /** What became of it. Either is final. */
  status: 'succeeded' | 'rejected';
  /** What it wrote; null when it was rejected. */
  resource: {
    /** What kind of resource. */
    type:
      | 'customer'
      | 'product'
      | 'location'
      | 'inventory_movement'
      | 'inventory_transfer'
      | 'inventory_count'
      | 'inventory_reservation'
      | 'batch'
      | 'webhook'
      | 'person'
      | 'token'
      | (string & {});
    /** Its ID. */
    id: string;
  } | null;
  /** Why it was rejected; null when it succeeded. */
  error: {
    /** The code it was answered with. */
    code: string;
    /** The details of that answer. */
    details: {
      [name: string]: unknown;
    }[];
  } | null;
  /** The location that its body named. */
  location_id: string | null;
  /** Its place in the journal; null when it changed nothing. */
  position: string | null;
  /** Who asked for it. */
  credential_id: string;
  /** The same, by name. */
  actor: {
    /** The credential. */
    credential_id: string;
    /** What it is called now. */
    name: string;
    /** A personal access token, or an approval of an OAuth application. */
    kind: 'personal_access_token' | 'oauth_access_token';
    /** The OAuth application. */
    application_id: string | null;
  };
  /** The request that performed it. */
  request_id: string;
  /** When it was performed. */
  created_at: string;
}

export interface PageMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** Where the next page starts. Absent when nothing follows. */
  next_cursor?: string;
}

/** Somebody who works at the merchant. */
export interface Person {
  /** Stays the same when the person is invited again. */
  id: string;
  /** What the person is called. */
  name: string;
  /** What the person may do. */
  role: 'owner' | 'keeper' | 'cashier' | 'viewer';
  /** Those of the role. */
  scopes: (
    | 'customers.read'
    | 'customers.write'
    | 'products.read'
    | 'products.write'
    | 'locations.read'
    | 'locations.write'
    | 'inventory.read'
    | 'inventory.write'
    | 'operations.read'
    | 'events.read'
    | 'webhooks.read'
    | 'webhooks.write'
    | 'access.read'
    | 'access.write'
  )[];
  /** All locations, those to come included. */
  all_locations: boolean;
  /** The granted locations; empty with all_locations. */
  location_ids: string[];
  /** `invited`: who has not signed in since the last invitation. */
  status: 'invited' | 'active' | 'revoked';
  /**
   * What the person opens the console with, at `/console/invitation#…`, once and for ten
   * minutes. Shown by the first answer alone: null in every other one, a replay among
   * them.
   */
  invitation: string | null;
  /** Until when the invitation can be used; null: it was. */
  invitation_expires_at: string | null;
  /** When the person last did something, to a quarter of an hour. */
  last_used_at: string | null;
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When the person was first invited. */
  created_at: string;
  /** When the person was revoked. */
  revoked_at: string | null;
}

/** Something the merchant sells. */
export interface Product {
  /** Its ID. */
  id: string;
  /** What the product is called. */
  name: string;
  /** What a buyer should know. */
  description: string | null;
  /** The stock keeping unit. */
  sku: string | null;
  /** The code printed on it, such as an EAN. */
  barcode: string | null;
  /** Archived products cannot be adjusted; they keep their SKU. */
  status: 'active' | 'archived';
  /** Whether levels are kept. */
  inventory_tracked: boolean;
  /**
   * What one of it is, such as a piece or a kilogram, and how finely it is counted. It
   * cannot change once the product has a movement.
   */
  unit: {
    /** What one is, such as `each`, `kg` or `m`. */
    code: string;
    /**
     * How many decimals a quantity may have: 0 for pieces, 3 for kilograms down to the
     * gram.
     */
    precision: number;
  };
  /** What it sells for. */
  price: {
    /** A decimal string with exactly the decimals of the currency; not negative. */
    amount: string;
    /** An ISO 4217 code. */
    currency: string;
  } | null;
  /**
   * What is available at a location is low once it is no more than this, in as many
   * decimals as the unit has; null: never.
   */
  low_stock_at: string | null;
  /** The ID in the caller's own system. */
  external_id: string | null;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata: {
    [name: string]: string;
  };
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When it was created. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
}

/** What needs a person. */
export interface Status {
  /** At most 100 of a kind. Empty: nothing, as far as the caller may know. */
  needs: {
    /**
     * `token_ends`: within 14 days, in the last third of its time. `token_ended`: in the
     * last 14 days. `invitation_ended`: nobody used it. `webhook_paused`: and nobody asked
     * for that. `webhook_failing`: its receiver does not take what it is sent.
     * `reservations_expired`: in the last day, at a location. `backup_missing`,
     * `backup_old`, `backup_failed`: the daily backup.
     */
    code:
      | 'token_ends'
      | 'token_ended'
      | 'invitation_ended'
      | 'webhook_paused'
      | 'webhook_failing'
      | 'reservations_expired'
      | 'backup_missing'
      | 'backup_old'
      | 'backup_failed'
      | (string & {});
    /** The same for a person, in English. */
    text: string;
    /** What it is about. */
    about: {
      /** What it is. */
      type: 'token' | 'person' | 'webhook' | 'location' | 'backup' | (string & {});
      /** Its ID; null of a backup. */
      id: string | null;
      /** What it is called. */
      name: string | null;
    };
    /** When it happens, or since when it is so. */
    at: string | null;
    /** Of how many; 200 stands for more. */
    count: number;
  }[];
}

/** A product, with what is on hand at a location. */
export interface StockItem {
  /** The product. */
  product_id: string;
  /** The location. */
  location_id: string;
  /** What the product is called. */
  name: string;
  /** The stock keeping unit. */
  sku: string | null;
  /** The code printed on it. */
  barcode: string | null;
  /** Archived products cannot be adjusted. */
  status: 'active' | 'archived';
  /** What one of it is. */
  unit: {
    /** What one is. */
    code: string;
    /** How many decimals it may have. */
    precision: number;
  };
  /** What is available has run out once it is no more than this; null: never. */
  low_stock_at: string | null;
  /** What is on hand there: 0 where it never moved. */
  quantity: string;
  /** How much of it is put aside by reservations, now. Null as of a moment. */
  reserved_quantity: string | null;
  /** What is on hand and not put aside; below 0 when that is less. */
  available_quantity: string | null;
  /** When that changed last; null where it never moved. */
  updated_at: string | null;
  /** When its last count was recorded; null: never. Null as of a moment. */
  counted_at: string | null;
  /** The credential that recorded that count. */
  counted_by: string | null;
}

/** What a program or an application calls with. */
export interface Token {
  /** Of the credential that the token leads to. */
  id: string;
  /** A token of a program, or what an application is allowed. */
  kind: 'personal_access_token' | 'oauth_access_token';
  /** What it is called. */
  name: string;
  /** The OAuth application that acts. */
  application: {
    /** Its ID. */
    id: string;
    name: string;
  } | null;
  /** Of a consent: the approval that it was given under. Null: it is none. */
  approval_id: string | null;
  /** Of a consent: who gave it. */
  given_by: string | null;
  /** What it may do. */
  scopes: (
    | 'customers.read'
    | 'customers.write'
    | 'products.read'
    | 'products.write'
    | 'locations.read'
    | 'locations.write'
    | 'inventory.read'
    | 'inventory.write'
    | 'operations.read'
    | 'events.read'
    | 'webhooks.read'
    | 'webhooks.write'
    | 'access.read'
    | 'access.write'
  )[];
  /** All locations, those to come included. */
  all_locations: boolean;
  /** The granted locations; empty with all_locations. */
  location_ids: string[];
  /** `ended`: its time is over, or what it rests on has ended. */
  status: 'active' | 'ended' | 'revoked';
  /**
   * The token itself. Shown by the first answer alone: null in every other one, a replay
   * among them. When that answer is lost, rotate the token, or revoke it and make
   * another.
   */
  token: string | null;
  /** The last characters of the token. */
  last_four: string | null;
  /** When the token ends; null of what an application is allowed. */
  expires_at: string | null;
  /** When it was last used, to a quarter of an hour. */
  last_used_at: string | null;
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When it was made. */
  created_at: string;
  /** When it was revoked. */
  revoked_at: string | null;
}

/** A receiver of events. */
export interface Webhook {
  /** Its ID. */
  id: string;
  /** What is called; others see it without its query. */
  url: string;
  /** Only events of these types. Null, or none: all. */
  types:
    | (
        | 'customer.created'
        | 'customer.updated'
        | 'customer.erased'
        | 'product.created'
        | 'product.updated'
        | 'location.created'
        | 'location.updated'
        | 'inventory.adjusted'
        | 'inventory.transferred'
        | 'inventory.counted'
        | 'inventory.reserved'
        | 'inventory.released'
        | 'inventory.fulfilled'
        | 'inventory.expired'
      )[]
    | null;
  /** Only what concerns these locations; they must be granted. Null: all that are. */
  location_ids: string[] | null;
  /** Only events of inventory that runs out: those with `low_stock`. */
  low_stock: boolean;
  /** Words for whoever reads it. */
  description: string | null;
  /** Whether it is called. */
  status: 'active' | 'paused';
  /**
   * Why it is paused. `requested`: by a request. `receiver_gone`: it answered 410.
   * `retries_ended`: an event failed at every attempt. `credential_ended`: the one that
   * made it. `secret_unreadable`: the secret of the service changed; rotate this one.
   * `restored`, `copied`: the database is a copy, which calls nobody by itself.
   */
  pause_reason:
    | 'requested'
    | 'receiver_gone'
    | 'retries_ended'
    | 'credential_ended'
    | 'secret_unreadable'
    | 'restored'
    | 'copied'
    | null;
  /** What is up to here was sent, or waits for another attempt. */
  position: string;
  /** The journal of that position. */
  journal: string;
  /** Since when calls fail; null: the last one did not. */
  failing_since: string | null;
  /** What the last call was answered with; null: nothing came. */
  last_status: number | null;
  /** Who made it. Nobody else can change it. */
  credential_id: string;
  /** Grows by one with every change; also the ETag. */
  version: number;
  /** When it was created. */
  created_at: string;
  /** When it was last changed. */
  updated_at: string;
}

/** What became of the calls of a webhook. */
export interface WebhookDeliveries {
  /** What waits for another attempt, by position. */
  failures: {
    /** The event. */
    event_id: string;
    /** Its place in the journal. */
    position: string;
    /** How often it was tried. */
    tries: number;
    /** When it is tried again; null: as soon as it can be. */
    next_at: string | null;
    /** That of the answer; null: none came. */
    status: number | null;
    /** Why it was no success; null: it was one. */
    failure:
      | 'address_not_allowed'
      | 'name_not_found'
      | 'connection_refused'
      | 'connection_closed'
      | 'connection_failed'
      | 'tls_failed'
      | 'timeout'
      | 'malformed_answer'
      | 'redirect'
      | 'status'
      | 'stopped'
      | 'too_many_tests'
      | 'secret_unreadable'
      | null;
    /** When it was last tried. */
    at: string;
  }[];
  /** The last attempts, newest first. */
  attempts: {
    /** The event. */
    event_id: string;
    /** Its place in the journal; null of a test. */
    position: string | null;
    /** That of the answer; null: none came. */
    status: number | null;
    /** Why it was no success; null: it was one. */
    failure:
      | 'address_not_allowed'
      | 'name_not_found'
      | 'connection_refused'
      | 'connection_closed'
      | 'connection_failed'
      | 'tls_failed'
      | 'timeout'
      | 'malformed_answer'
      | 'redirect'
      | 'status'
      | 'stopped'
      | 'too_many_tests'
      | 'secret_unreadable'
      | null;
    /** How long it took. */
    milliseconds: number;
    /** When it began. */
    at: string;
  }[];
}

/** What the calls are signed with. */
export interface WebhookSecret {
  /** As Standard Webhooks has it. */
  secret: string;
  /** The one before; null: it signs no more. */
  previous: {
    /** As Standard Webhooks has it. */
    secret: string;
    /** Until when it signs along. */
    expires_at: string;
  } | null;
}

export interface WriteMeta {
  /** Names this request; the same as X-Request-Id. */
  request_id: string;
  /** The identity of this write, the same on a replay. */
  operation_id: string;
  /** The place of this write in the journal. Absent when it changed nothing. */
  position?: string;
  /** The journal that the position is of. A restore renews it. */
  journal?: string;
}

export interface CustomersCreateBody {
  /** What the customer is called. */
  name: string;
  /** An e-mail address. Several customers may share one. */
  email: string;
  /** A telephone number in E.164 form. */
  phone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** What the staff should know; the customer does not see it. */
  note?: string | null | undefined;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata?:
    | {
        [name: string]: string;
      }
    | null
    | undefined;
}

export interface CustomersUpsertBody {
  /** What the customer is called. */
  name?: string | undefined;
  /** An e-mail address. Several customers may share one. */
  email?: string | undefined;
  /** A telephone number in E.164 form. */
  phone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** What the staff should know; the customer does not see it. */
  note?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
  /** Archived customers stay readable and keep their external ID. */
  status?: 'active' | 'archived' | undefined;
}

export interface CustomersListQuery {
  /** Only with this address. The case of its domain is ignored. */
  email?: string | undefined;
  /** Only with one of these external IDs. Repeat the parameter for each. */
  external_id?: string | readonly string[] | undefined;
  /** Only with this status. */
  status?: 'active' | 'archived' | undefined;
  /** Only changed at or after this. */
  updated_after?: string | undefined;
  /** Only where name or e-mail address has all these words or beginnings. */
  q?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface CustomersUpdateBody {
  /** What the customer is called. */
  name?: string | undefined;
  /** An e-mail address. Several customers may share one. */
  email?: string | undefined;
  /** A telephone number in E.164 form. */
  phone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** What the staff should know; the customer does not see it. */
  note?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
  /** Archived customers stay readable and keep their external ID. */
  status?: 'active' | 'archived' | undefined;
}

export interface ProductsCreateBody {
  /** What the product is called. */
  name: string;
  /** What a buyer should know. */
  description?: string | null | undefined;
  /** The stock keeping unit; unique, by case as well. */
  sku?: string | null | undefined;
  /** The code printed on it, such as an EAN. Several products may share one. */
  barcode?: string | null | undefined;
  /** Whether levels are kept. */
  inventory_tracked?: boolean | null | undefined;
  /**
   * What one of it is, such as a piece or a kilogram, and how finely it is counted. It
   * cannot change once the product has a movement.
   */
  unit?:
    | {
        /** What one is, such as `each`, `kg` or `m`. */
        code: string;
        /**
         * How many decimals a quantity may have: 0 for pieces, 3 for kilograms down to the
         * gram.
         */
        precision: number;
      }
    | null
    | undefined;
  /** What it sells for. */
  price?:
    | {
        /** A decimal string with exactly the decimals of the currency; not negative. */
        amount: string;
        /** An ISO 4217 code. */
        currency: string;
      }
    | null
    | undefined;
  /**
   * What is available at a location is low once it is no more than this, in as many
   * decimals as the unit has; null: never. At most 12 digits before the point and 5
   * after it.
   */
  low_stock_at?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata?:
    | {
        [name: string]: string;
      }
    | null
    | undefined;
}

export interface ProductsUpsertBody {
  /** What the product is called. */
  name?: string | undefined;
  /** What a buyer should know. */
  description?: string | null | undefined;
  /** The stock keeping unit; unique, by case as well. */
  sku?: string | null | undefined;
  /** The code printed on it, such as an EAN. Several products may share one. */
  barcode?: string | null | undefined;
  /** Archived products cannot be adjusted; they keep their SKU. */
  status?: 'active' | 'archived' | undefined;
  /** Whether levels are kept. */
  inventory_tracked?: boolean | null | undefined;
  /**
   * What one of it is, such as a piece or a kilogram, and how finely it is counted. It
   * cannot change once the product has a movement.
   */
  unit?:
    | {
        /** What one is, such as `each`, `kg` or `m`. */
        code: string;
        /**
         * How many decimals a quantity may have: 0 for pieces, 3 for kilograms down to the
         * gram.
         */
        precision: number;
      }
    | null
    | undefined;
  /** What it sells for. */
  price?:
    | {
        /** A decimal string with exactly the decimals of the currency; not negative. */
        amount: string;
        /** An ISO 4217 code. */
        currency: string;
      }
    | null
    | undefined;
  /**
   * What is available at a location is low once it is no more than this, in as many
   * decimals as the unit has; null: never. At most 12 digits before the point and 5
   * after it.
   */
  low_stock_at?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
}

export interface ProductsListQuery {
  /** Only with one of these IDs. Repeat the parameter for each. */
  id?: string | readonly string[] | undefined;
  /** Only with one of these SKUs. Repeat the parameter for each. */
  sku?: string | readonly string[] | undefined;
  /** The code printed on it, such as an EAN. Several products may share one. */
  barcode?: string | undefined;
  /** Only with one of these external IDs. Repeat the parameter for each. */
  external_id?: string | readonly string[] | undefined;
  /** Only with this status. */
  status?: 'active' | 'archived' | undefined;
  /** Only changed at or after this. */
  updated_after?: string | undefined;
  /** Only where name, SKU or barcode has all these words or beginnings. */
  q?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface ProductsUpdateBody {
  /** What the product is called. */
  name?: string | undefined;
  /** What a buyer should know. */
  description?: string | null | undefined;
  /** The stock keeping unit; unique, by case as well. */
  sku?: string | null | undefined;
  /** The code printed on it, such as an EAN. Several products may share one. */
  barcode?: string | null | undefined;
  /** Archived products cannot be adjusted; they keep their SKU. */
  status?: 'active' | 'archived' | undefined;
  /** Whether levels are kept. */
  inventory_tracked?: boolean | null | undefined;
  /**
   * What one of it is, such as a piece or a kilogram, and how finely it is counted. It
   * cannot change once the product has a movement.
   */
  unit?:
    | {
        /** What one is, such as `each`, `kg` or `m`. */
        code: string;
        /**
         * How many decimals a quantity may have: 0 for pieces, 3 for kilograms down to the
         * gram.
         */
        precision: number;
      }
    | null
    | undefined;
  /** What it sells for. */
  price?:
    | {
        /** A decimal string with exactly the decimals of the currency; not negative. */
        amount: string;
        /** An ISO 4217 code. */
        currency: string;
      }
    | null
    | undefined;
  /**
   * What is available at a location is low once it is no more than this, in as many
   * decimals as the unit has; null: never. At most 12 digits before the point and 5
   * after it.
   */
  low_stock_at?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
}

export interface LocationsCreateBody {
  /** What the location is called. */
  name: string;
  /** A short code; unique, by case as well. */
  code?: string | null | undefined;
  /** What kind of place. */
  type?: 'other' | 'store' | 'warehouse' | null | undefined;
  /** An IANA time zone. */
  timezone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Up to 50 pairs of the caller's own; keys to 40 characters, values to 500. */
  metadata?:
    | {
        [name: string]: string;
      }
    | null
    | undefined;
}

export interface LocationsUpsertBody {
  /** What the location is called. */
  name?: string | undefined;
  /** A short code; unique, by case as well. */
  code?: string | null | undefined;
  /** What kind of place. */
  type?: 'other' | 'store' | 'warehouse' | null | undefined;
  /** Nothing is adjusted at an inactive location; it keeps its code. */
  status?: 'active' | 'inactive' | undefined;
  /** An IANA time zone. */
  timezone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
}

export interface LocationsListQuery {
  /** Only with this status. */
  status?: 'active' | 'inactive' | undefined;
  /** A short code; unique, by case as well. */
  code?: string | undefined;
  /** Only with one of these external IDs. Repeat the parameter for each. */
  external_id?: string | readonly string[] | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface LocationsUpdateBody {
  /** What the location is called. */
  name?: string | undefined;
  /** A short code; unique, by case as well. */
  code?: string | null | undefined;
  /** What kind of place. */
  type?: 'other' | 'store' | 'warehouse' | null | undefined;
  /** Nothing is adjusted at an inactive location; it keeps its code. */
  status?: 'active' | 'inactive' | undefined;
  /** An IANA time zone. */
  timezone?: string | null | undefined;
  /** The ID in the caller's own system; unique. */
  external_id?: string | null | undefined;
  /** Pairs to set; null deletes one; pairs not named stay. */
  metadata?:
    | {
        [name: string]: string | null;
      }
    | null
    | undefined;
}

export interface InventoryLevelsListQuery {
  /** The location; it must be granted. */
  location_id: string;
  /** Only these products. Repeat the parameter for each; unknown ones give no row. */
  product_id?: string | readonly string[] | undefined;
  /** Only levels that changed at or after this. Not with `as_of` or `as_of_position`. */
  updated_after?: string | undefined;
  /**
   * Only levels of which no more is available than `low_stock_at` of their product,
   * which is active and tracked. Not with `as_of` or `as_of_position`.
   */
  low_stock?: 'true' | undefined;
  /**
   * What was there after the operation at this place in the journal. Needs `journal`,
   * unless 0.
   */
  as_of_position?: string | undefined;
  /**
   * What was there at this time, at least 5 seconds ago; or `now`: at the end of the
   * journal, as it is when the first page is asked for.
   */
  as_of?: string | undefined;
  /** The journal of that position, as it came with it. Another one is refused. */
  journal?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface ProductsLevelsListQuery {
  /**
   * What was there after the operation at this place in the journal. Needs `journal`,
   * unless 0.
   */
  as_of_position?: string | undefined;
  /**
   * What was there at this time, at least 5 seconds ago; or `now`: at the end of the
   * journal, as it is when the first page is asked for.
   */
  as_of?: string | undefined;
  /** The journal of that position, as it came with it. Another one is refused. */
  journal?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryMovementsListQuery {
  /** Only at this location; it must be granted. */
  location_id?: string | undefined;
  /** Only these products. Repeat the parameter for each; unknown ones give no row. */
  product_id?: string | readonly string[] | undefined;
  /** Only with this reason. */
  reason?:
    | 'stock_count'
    | 'external_adjustment'
    | 'correction'
    | 'transfer'
    | 'sale'
    | 'return'
    | 'receipt'
    | 'damage'
    | 'loss'
    | 'production'
    | 'other'
    | undefined;
  /** Only of this operation. */
  operation_id?: string | undefined;
  /** Only recorded at or after this. */
  recorded_after?: string | undefined;
  /** Only recorded before this. */
  recorded_before?: string | undefined;
  /** Only movements behind this place in the journal. */
  after_position?: string | undefined;
  /** The journal of that position, as it came with it. */
  journal?: string | undefined;
  /** Newest first (desc, the default) or oldest. */
  order?: 'desc' | 'asc' | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryAdjustBody {
  /** The product. */
  product_id: string;
  /** The location; it must be granted. */
  location_id: string;
  /** What the quantity shall be. At most 12 digits before the point and 5 after it. */
  target_quantity: string;
  /**
   * Why the quantity changes. `stock_count`: somebody counted what is there.
   * `external_adjustment`: goods came or went, as another system knows (a sale, a
   * delivery, a return). `correction`: an earlier entry was wrong, and nothing moved.
   */
  reason: 'stock_count' | 'external_adjustment' | 'correction';
  /**
   * Refuse unless this is the current quantity. At most 12 digits before the point and 5
   * after it.
   */
  expected_quantity?: string | null | undefined;
  /** Words for whoever reads the movement later. */
  note?: string | null | undefined;
  /** What it is called in your own system, such as a receipt or delivery number. */
  reference?: string | null | undefined;
}

export interface InventoryTransfersListQuery {
  /** Only from or to this location; it must be granted. */
  location_id?: string | undefined;
  /** Only those of which something was not there. */
  short?: 'true' | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryTransferBody {
  /**
   * Where it comes from; null: from the outside. It must be granted, and so must the
   * other one.
   */
  from_location_id?: string | null | undefined;
  /** Where it goes to; null: to the outside. */
  to_location_id?: string | null | undefined;
  /** Why. `transfer` between two locations; with the outside one of the others. */
  reason: 'transfer' | 'sale' | 'return' | 'receipt' | 'damage' | 'loss' | 'production' | 'other';
  /**
   * What to do when less is there. `record`, to the outside only: what has been sold
   * already is taken as far as it is there, and the rest is kept as `quantity_short`.
   */
  shortage?: 'refuse' | 'record' | null | undefined;
  /** What moves. */
  lines: readonly {
    /** The product; each in one line. */
    product_id: string;
    /** How much moves; more than 0. At most 12 digits before the point and 5 after it. */
    quantity: string;
  }[];
  /** Words for whoever reads the movement later. */
  note?: string | null | undefined;
  /** What it is called in your own system, such as a receipt or delivery number. */
  reference?: string | null | undefined;
}

export interface InventoryReservationsListQuery {
  /** Only at this location; it must be granted. */
  location_id?: string | undefined;
  /** Only with this status. */
  status?: 'active' | 'fulfilled' | 'released' | 'expired' | undefined;
  /** Only with this reference, letter for letter. */
  reference?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryReserveBody {
  /** The location; it must be granted. */
  location_id: string;
  /** What to put aside. */
  lines: readonly {
    /** The product; each in one line. */
    product_id: string;
    /** How much of it; more than 0. At most 12 digits before the point and 5 after it. */
    quantity: string;
  }[];
  /**
   * When it ends by itself, by the clock of the database. Null: never. At most 90 days
   * from now.
   */
  expires_at?: string | null | undefined;
  /** Words for whoever reads the movement later. */
  note?: string | null | undefined;
  /** What it is called in your own system, such as a receipt or delivery number. */
  reference?: string | null | undefined;
}

export interface InventoryReleaseBody {
  /** Why. */
  note?: string | null | undefined;
}

export interface InventoryFulfilBody {
  /** Why it leaves. */
  reason: 'sale' | 'return' | 'damage' | 'loss' | 'production' | 'other';
  /** Also that of the movements. Null: these have that of the reservation. */
  note?: string | null | undefined;
  /** For the movements. Null: that of the reservation. */
  reference?: string | null | undefined;
}

export interface InventoryDailyListQuery {
  /** The location; it must be granted. */
  location_id: string;
  /** The first day. */
  from: string;
  /** The last day: at most 92 in all. */
  to: string;
  /** Only movements of this product. */
  product_id?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface StockListQuery {
  /** The location; it must be granted. */
  location_id: string;
  /** Only where name, SKU or barcode has all these words or beginnings. */
  q?: string | undefined;
  /**
   * What they are sorted by: `name`, unless told. `quantity` is refused with `as_of` and
   * `as_of_position`.
   */
  sort?: 'name' | 'sku' | 'quantity' | undefined;
  /** Only with this status: `active`, unless told. */
  status?: 'active' | 'archived' | undefined;
  /**
   * Only active products of which no more is available there than `low_stock_at`; what
   * never moved there is 0. Not with `as_of` or `as_of_position`.
   */
  low_stock?: 'true' | undefined;
  /**
   * What was there after the operation at this place in the journal. Needs `journal`,
   * unless 0.
   */
  as_of_position?: string | undefined;
  /**
   * What was there at this time, at least 5 seconds ago; or `now`: at the end of the
   * journal, as it is when the first page is asked for.
   */
  as_of?: string | undefined;
  /** The journal of that position, as it came with it. Another one is refused. */
  journal?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryCountsListQuery {
  /** Only at this location; it must be granted. */
  location_id?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface InventoryCountBody {
  /** The location; it must be granted. */
  location_id: string;
  /** What was counted. */
  lines: readonly {
    /** The product; each in one line. */
    product_id: string;
    /** What was found. At most 12 digits before the point and 5 after it. */
    counted_quantity: string;
    /**
     * Refuse unless this was there when it was counted: now, or at the position. At most
     * 12 digits before the point and 5 after it.
     */
    expected_quantity?: string | null | undefined;
    /** The same for this line, where it was counted at another time. */
    counted_at_position?: string | null | undefined;
  }[];
  /**
   * The journal as it was when the shelf was counted: `meta.position` or
   * `as_of_position` of an answer of that moment. What has moved since is added to what
   * was counted, but for what others counted (reason `stock_count`). Needs `journal`,
   * unless 0.
   */
  counted_at_position?: string | null | undefined;
  /** The journal of these positions, as it came with them. */
  journal?: string | null | undefined;
  /** Words for whoever reads the movement later. */
  note?: string | null | undefined;
  /** What it is called in your own system, such as a receipt or delivery number. */
  reference?: string | null | undefined;
}

export interface BatchesSubmitBody {
  /** The writes. */
  operations: readonly {
    /** Which write: the `operationId` of its own route. */
    type:
      | 'customers.create'
      | 'customers.update'
      | 'customers.upsert'
      | 'products.create'
      | 'products.update'
      | 'products.upsert'
      | 'locations.create'
      | 'locations.update'
      | 'locations.upsert'
      | 'inventory.adjust'
      | 'inventory.transfer'
      | 'inventory.reserve'
      | 'inventory.release'
      | 'inventory.fulfil'
      | 'inventory.count'
      | 'webhooks.create'
      | 'webhooks.update'
      | 'webhooks.test'
      | 'webhooks.redeliver';
    /** Its own Idempotency-Key, as the header of its own request would say it. */
    idempotency_key: string;
    /** The ID in the path, where its route has one. */
    id?: string | null | undefined;
    /** The ID in the caller's own system. */
    external_id?: string | null | undefined;
    /** The version that If-Match would name, where its route takes one. */
    if_match?: number | null | undefined;
    /** The body of its own request. */
    body: object;
  }[];
}

export interface OperationsListQuery {
  /** Only of this type. */
  type?:
    | 'customers.create'
    | 'customers.update'
    | 'customers.upsert'
    | 'customers.erase'
    | 'products.create'
    | 'products.update'
    | 'products.upsert'
    | 'locations.create'
    | 'locations.update'
    | 'locations.upsert'
    | 'inventory.adjust'
    | 'inventory.transfer'
    | 'inventory.count'
    | 'inventory.reserve'
    | 'inventory.release'
    | 'inventory.fulfil'
    | 'inventory.expire'
    | 'batches.submit'
    | 'webhooks.create'
    | 'webhooks.update'
    | 'webhooks.test'
    | 'webhooks.redeliver'
    | 'people.invite'
    | 'people.update'
    | 'people.invite_again'
    | 'tokens.create'
    | 'tokens.update'
    | 'tokens.rotate'
    | undefined;
  /** Only with this status. */
  status?: 'succeeded' | 'rejected' | undefined;
  /** Only what this request performed. */
  request_id?: string | undefined;
  /** Only what this credential asked for. */
  credential_id?: string | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface EventsListQuery {
  /** Only of these types. Repeat the parameter for each. */
  type?:
    | 'customer.created'
    | 'customer.updated'
    | 'customer.erased'
    | 'product.created'
    | 'product.updated'
    | 'location.created'
    | 'location.updated'
    | 'inventory.adjusted'
    | 'inventory.transferred'
    | 'inventory.counted'
    | 'inventory.reserved'
    | 'inventory.released'
    | 'inventory.fulfilled'
    | 'inventory.expired'
    | readonly (
        | 'customer.created'
        | 'customer.updated'
        | 'customer.erased'
        | 'product.created'
        | 'product.updated'
        | 'location.created'
        | 'location.updated'
        | 'inventory.adjusted'
        | 'inventory.transferred'
        | 'inventory.counted'
        | 'inventory.reserved'
        | 'inventory.released'
        | 'inventory.fulfilled'
        | 'inventory.expired'
      )[]
    | undefined;
  /** Only of inventory at this location, and of the location; it must be granted. */
  location_id?: string | undefined;
  /** Only of inventory of these products, and of the products. Repeat it. */
  product_id?: string | readonly string[] | undefined;
  /** Only of inventory that runs out: those with `low_stock`, as asked for. */
  low_stock?: 'true' | undefined;
  /** Only behind this place in the journal. */
  after_position?: string | undefined;
  /** The journal of that position, as it came with it. */
  journal?: string | undefined;
  /** So many seconds to wait when there is nothing yet. */
  wait?: number | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface WebhooksCreateBody {
  /** What is called: over https, at a public address, without a user. */
  url: string;
  /** Only events of these types. Null, or none: all. */
  types?:
    | readonly (
        | 'customer.created'
        | 'customer.updated'
        | 'customer.erased'
        | 'product.created'
        | 'product.updated'
        | 'location.created'
        | 'location.updated'
        | 'inventory.adjusted'
        | 'inventory.transferred'
        | 'inventory.counted'
        | 'inventory.reserved'
        | 'inventory.released'
        | 'inventory.fulfilled'
        | 'inventory.expired'
      )[]
    | null
    | undefined;
  /** Only what concerns these locations; they must be granted. Null: all that are. */
  location_ids?: readonly string[] | null | undefined;
  /** Only events of inventory that runs out: those with `low_stock`. */
  low_stock?: boolean | null | undefined;
  /** Words for whoever reads it. */
  description?: string | null | undefined;
  /** Whether it is called. */
  status?: 'active' | 'paused' | null | undefined;
  /** Send what is behind this place in the journal; without it, what comes. */
  from_position?: string | null | undefined;
  /** The journal of that position, as it came with it. */
  journal?: string | null | undefined;
}

export interface WebhooksListQuery {
  /** Only with this status. */
  status?: 'active' | 'paused' | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface WebhooksUpdateBody {
  /** What is called: over https, at a public address, without a user. */
  url?: string | undefined;
  /** Only events of these types. Null, or none: all. */
  types?:
    | readonly (
        | 'customer.created'
        | 'customer.updated'
        | 'customer.erased'
        | 'product.created'
        | 'product.updated'
        | 'location.created'
        | 'location.updated'
        | 'inventory.adjusted'
        | 'inventory.transferred'
        | 'inventory.counted'
        | 'inventory.reserved'
        | 'inventory.released'
        | 'inventory.fulfilled'
        | 'inventory.expired'
      )[]
    | null
    | undefined;
  /** Only what concerns these locations; they must be granted. Null: all that are. */
  location_ids?: readonly string[] | null | undefined;
  /** Only events of inventory that runs out: those with `low_stock`. */
  low_stock?: boolean | null | undefined;
  /** Words for whoever reads it. */
  description?: string | null | undefined;
  /** Whether it is called. */
  status?: 'active' | 'paused' | undefined;
  /** Send what is behind this place in the journal. */
  from_position?: string | undefined;
  /** The journal of that position, as it came with it. */
  journal?: string | undefined;
  /** Make another secret; the old one signs along for 24 hours. */
  rotate_secret?: boolean | undefined;
}

export interface WebhooksTestBody {
  /** Words that the event shall carry. */
  note?: string | null | undefined;
}

export interface WebhooksRedeliverBody {
  /** Send what is behind this place in the journal. */
  from_position: string;
  /** The journal of that position, as it came with it. */
  journal?: string | null | undefined;
}

export interface PeopleInviteBody {
  /** No two people of the merchant have the same. */
  name: string;
  /**
   * What the person may do. `owner`: every scope; `keeper`: customers.read,
   * customers.write, products.read, products.write, locations.read, inventory.read,
   * inventory.write, operations.read, events.read; `cashier`: customers.read,
   * customers.write, products.read, locations.read, inventory.read, inventory.write,
   * operations.read, events.read; `viewer`: customers.read, products.read,
   * locations.read, inventory.read, operations.read, events.read.
   */
  role: 'owner' | 'keeper' | 'cashier' | 'viewer';
  /** All locations, those to come included. */
  all_locations?: boolean | null | undefined;
  /** These locations. */
  location_ids?: readonly string[] | null | undefined;
}

export interface PeopleListQuery {
  /** Only with this status. */
  status?: 'invited' | 'active' | 'revoked' | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface PeopleUpdateBody {
  /** No two people of the merchant have the same. */
  name?: string | undefined;
  /**
   * What the person may do. `owner`: every scope; `keeper`: customers.read,
   * customers.write, products.read, products.write, locations.read, inventory.read,
   * inventory.write, operations.read, events.read; `cashier`: customers.read,
   * customers.write, products.read, locations.read, inventory.read, inventory.write,
   * operations.read, events.read; `viewer`: customers.read, products.read,
   * locations.read, inventory.read, operations.read, events.read.
   */
  role?: 'owner' | 'keeper' | 'cashier' | 'viewer' | undefined;
  /** All locations, those to come included. */
  all_locations?: boolean | undefined;
  /** These locations. */
  location_ids?: readonly string[] | undefined;
  /** Only an invitation makes a person active again. */
  status?: 'revoked' | undefined;
}

export interface PeopleInvite_againBody {
  /** No two people of the merchant have the same. */
  name?: string | null | undefined;
  /**
   * What the person may do. `owner`: every scope; `keeper`: customers.read,
   * customers.write, products.read, products.write, locations.read, inventory.read,
   * inventory.write, operations.read, events.read; `cashier`: customers.read,
   * customers.write, products.read, locations.read, inventory.read, inventory.write,
   * operations.read, events.read; `viewer`: customers.read, products.read,
   * locations.read, inventory.read, operations.read, events.read.
   */
  role?: 'owner' | 'keeper' | 'cashier' | 'viewer' | null | undefined;
  /** All locations, those to come included. */
  all_locations?: boolean | null | undefined;
  /** These locations. */
  location_ids?: readonly string[] | null | undefined;
}

export interface TokensCreateBody {
  /** What it is called. */
  name: string;
  /** What it may do. */
  scopes: readonly (
    | 'customers.read'
    | 'customers.write'
    | 'products.read'
    | 'products.write'
    | 'locations.read'
    | 'locations.write'
    | 'inventory.read'
    | 'inventory.write'
    | 'operations.read'
    | 'events.read'
    | 'webhooks.read'
    | 'webhooks.write'
    | 'access.read'
    | 'access.write'
  )[];
  /** All locations, those to come included. */
  all_locations?: boolean | null | undefined;
  /** These locations. */
  location_ids?: readonly string[] | null | undefined;
  /** After so many days it ends. */
  expires_in_days?: number | null | undefined;
}

export interface TokensListQuery {
  /** Only with this status. */
  status?: 'active' | 'ended' | 'revoked' | undefined;
  /** How many to return at most. It may change between pages. */
  limit?: number | undefined;
  /** meta.next_cursor of the page before, with the same filters. */
  cursor?: string | undefined;
}

export interface TokensUpdateBody {
  /** What it is called. */
  name?: string | undefined;
  /** What it may do. */
  scopes?:
    | readonly (
        | 'customers.read'
        | 'customers.write'
        | 'products.read'
        | 'products.write'
        | 'locations.read'
        | 'locations.write'
        | 'inventory.read'
        | 'inventory.write'
        | 'operations.read'
        | 'events.read'
        | 'webhooks.read'
        | 'webhooks.write'
        | 'access.read'
        | 'access.write'
      )[]
    | undefined;
  /** All locations, those to come included. */
  all_locations?: boolean | undefined;
  /** These locations. */
  location_ids?: readonly string[] | undefined;
  /** So many days from now it ends. */
  expires_in_days?: number | undefined;
  /** It ends for good. */
  status?: 'revoked' | undefined;
}

export interface TokensRotateBody {
  /** So long the old token stays valid; 0: it ends at once. */
  overlap_hours?: number | null | undefined;
}

/** Each operation of the interface. */
export interface Operations {
  readonly customers: {
    /** Create a customer */
    create(body: CustomersCreateBody, options?: WriteOptions): Promise<Result<Customer, WriteMeta>>;
    /** Create or change a customer by your own ID */
    upsert(
      externalId: string,
      body: CustomersUpsertBody,
      options?: WriteOptions,
    ): Promise<Result<Customer, WriteMeta>>;
    /** List customers */
    list(query?: CustomersListQuery, options?: CallOptions): Pages<Customer, PageMeta>;
    /** Change a customer */
    update(
      id: string,
      body: CustomersUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Customer, WriteMeta>>;
    /** Read a customer */
    get(
      id: string,
      options: CallOptions & { readonly ifNoneMatch: number },
    ): Promise<Result<Customer | null, Meta>>;
    get(id: string, options?: CallOptions): Promise<Result<Customer, Meta>>;
  };
  readonly products: {
    /** Create a product */
    create(body: ProductsCreateBody, options?: WriteOptions): Promise<Result<Product, WriteMeta>>;
    /** Create or change a product by your own ID */
    upsert(
      externalId: string,
      body: ProductsUpsertBody,
      options?: WriteOptions,
    ): Promise<Result<Product, WriteMeta>>;
    /** List products */
    list(query?: ProductsListQuery, options?: CallOptions): Pages<Product, PageMeta>;
    /** Change a product */
    update(
      id: string,
      body: ProductsUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Product, WriteMeta>>;
    /** Read a product */
    get(
      id: string,
      options: CallOptions & { readonly ifNoneMatch: number },
    ): Promise<Result<Product | null, Meta>>;
    get(id: string, options?: CallOptions): Promise<Result<Product, Meta>>;
    readonly levels: {
      /** Find where a product is */
      list(
        id: string,
        query?: ProductsLevelsListQuery,
        options?: CallOptions,
      ): Pages<InventoryLevel, LevelPageMeta>;
    };
  };
  readonly locations: {
    /** Create a location */
    create(body: LocationsCreateBody, options?: WriteOptions): Promise<Result<Location, WriteMeta>>;
    /** Create or change a location by your own ID */
    upsert(
      externalId: string,
      body: LocationsUpsertBody,
      options?: WriteOptions,
    ): Promise<Result<Location, WriteMeta>>;
    /** List locations */
    list(query?: LocationsListQuery, options?: CallOptions): Pages<Location, PageMeta>;
    /** Change a location */
    update(
      id: string,
      body: LocationsUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Location, WriteMeta>>;
    /** Read a location */
    get(
      id: string,
      options: CallOptions & { readonly ifNoneMatch: number },
    ): Promise<Result<Location | null, Meta>>;
    get(id: string, options?: CallOptions): Promise<Result<Location, Meta>>;
  };
  readonly inventory: {
    readonly levels: {
      /** List the levels at a location */
      list(
        query: InventoryLevelsListQuery,
        options?: CallOptions,
      ): Pages<InventoryLevel, LevelPageMeta>;
    };
    readonly movements: {
      /** List movements */
      list(
        query?: InventoryMovementsListQuery,
        options?: CallOptions,
      ): Pages<InventoryMovement, MovementPageMeta>;
      /** Read a movement */
      get(id: string, options?: CallOptions): Promise<Result<InventoryMovement, Meta>>;
    };
    /** Set the quantity of a product at a location */
    adjust(
      body: InventoryAdjustBody,
      options?: WriteOptions,
    ): Promise<Result<InventoryAdjustment, WriteMeta>>;
    readonly transfers: {
      /** List transfers */
      list(
        query?: InventoryTransfersListQuery,
        options?: CallOptions,
      ): Pages<InventoryTransfer, PageMeta>;
      /** Move quantities */
      create(
        body: InventoryTransferBody,
        options?: WriteOptions,
      ): Promise<Result<InventoryTransfer, WriteMeta>>;
      /** Read a transfer */
      get(id: string, options?: CallOptions): Promise<Result<InventoryTransfer, Meta>>;
    };
    readonly reservations: {
      /** List reservations */
      list(
        query?: InventoryReservationsListQuery,
        options?: CallOptions,
      ): Pages<InventoryReservation, PageMeta>;
      /** Put quantities aside */
      create(
        body: InventoryReserveBody,
        options?: WriteOptions,
      ): Promise<Result<InventoryReservation, WriteMeta>>;
      /** Read a reservation */
      get(id: string, options?: CallOptions): Promise<Result<InventoryReservation, Meta>>;
      /** Let go of a reservation */
      release(
        id: string,
        body?: InventoryReleaseBody,
        options?: WriteOptions,
      ): Promise<Result<InventoryReservation, WriteMeta>>;
      /** Take out what a reservation holds */
      fulfil(
        id: string,
        body: InventoryFulfilBody,
        options?: WriteOptions,
      ): Promise<Result<InventoryReservation, WriteMeta>>;
    };
    /** Sum up the movements of each day */
    daily(query: InventoryDailyListQuery, options?: CallOptions): Pages<InventoryDay, DayPageMeta>;
    readonly counts: {
      /** List counts */
      list(
        query?: InventoryCountsListQuery,
        options?: CallOptions,
      ): Pages<InventoryCount, PageMeta>;
      /** Record a count */
      create(
        body: InventoryCountBody,
        options?: WriteOptions,
      ): Promise<Result<InventoryCount, WriteMeta>>;
      /** Read a count */
      get(id: string, options?: CallOptions): Promise<Result<InventoryCount, Meta>>;
    };
  };
  readonly stock: {
    /** List products with what is on hand */
    list(query: StockListQuery, options?: CallOptions): Pages<StockItem, LevelPageMeta>;
  };
  readonly batches: {
    /** Send many writes in one request */
    submit(body: BatchesSubmitBody, options?: WriteOptions): Promise<Result<Batch, WriteMeta>>;
  };
  readonly operations: {
    /** List operations */
    list(query?: OperationsListQuery, options?: WriteOptions): Pages<Operation, PageMeta>;
    /** Read an operation */
    get(id: string, options?: CallOptions): Promise<Result<Operation, Meta>>;
  };
  readonly events: {
    /** Follow what happens */
    list(query?: EventsListQuery, options?: CallOptions): Pages<Event, EventPageMeta>;
  };
  readonly webhooks: {
    /** Create a webhook */
    create(body: WebhooksCreateBody, options?: WriteOptions): Promise<Result<Webhook, WriteMeta>>;
    /** List webhooks */
    list(query?: WebhooksListQuery, options?: CallOptions): Pages<Webhook, PageMeta>;
    /** Change a webhook */
    update(
      id: string,
      body: WebhooksUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Webhook, WriteMeta>>;
    /** Read a webhook */
    get(id: string, options?: CallOptions): Promise<Result<Webhook, Meta>>;
    readonly secret: {
      /** Read the secret of a webhook */
      get(id: string, options?: CallOptions): Promise<Result<WebhookSecret, Meta>>;
    };
    readonly deliveries: {
      /** See what became of calls */
      get(id: string, options?: CallOptions): Promise<Result<WebhookDeliveries, Meta>>;
    };
    /** Send a test event */
    test(
      id: string,
      body?: WebhooksTestBody,
      options?: WriteOptions,
    ): Promise<Result<Webhook, WriteMeta>>;
    /** Deliver again from a position */
    redeliver(
      id: string,
      body: WebhooksRedeliverBody,
      options?: WriteOptions,
    ): Promise<Result<Webhook, WriteMeta>>;
  };
  readonly people: {
    /** Invite a person */
    invite(body: PeopleInviteBody, options?: WriteOptions): Promise<Result<Person, WriteMeta>>;
    /** List people */
    list(query?: PeopleListQuery, options?: CallOptions): Pages<Person, PageMeta>;
    /** Change or revoke a person */
    update(
      id: string,
      body: PeopleUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Person, WriteMeta>>;
    /** Read a person */
    get(id: string, options?: CallOptions): Promise<Result<Person, Meta>>;
    /** Invite a person again */
    invite_again(
      id: string,
      body?: PeopleInvite_againBody,
      options?: WriteOptions,
    ): Promise<Result<Person, WriteMeta>>;
  };
  readonly tokens: {
    /** Make a token */
    create(body: TokensCreateBody, options?: WriteOptions): Promise<Result<Token, WriteMeta>>;
    /** List tokens */
    list(query?: TokensListQuery, options?: CallOptions): Pages<Token, PageMeta>;
    /** Change or revoke a token */
    update(
      id: string,
      body: TokensUpdateBody,
      options?: ChangeOptions,
    ): Promise<Result<Token, WriteMeta>>;
    /** Read a token */
    get(id: string, options?: CallOptions): Promise<Result<Token, Meta>>;
    /** Make a new token for the same credential */
    rotate(
      id: string,
      body?: TokensRotateBody,
      options?: WriteOptions,
    ): Promise<Result<Token, WriteMeta>>;
  };
  readonly status: {
    /** Ask what needs a person */
    get(options?: CallOptions): Promise<Result<Status, Meta>>;
  };
  readonly credential: {
    /** Ask what one’s own credential may do */
    get(options?: CallOptions): Promise<Result<Credential, Meta>>;
  };
}

/** Those that write, by their names. */
export interface Writes {
  'customers.create': Operations['customers']['create'];
  'customers.upsert': Operations['customers']['upsert'];
  'customers.update': Operations['customers']['update'];
  'products.create': Operations['products']['create'];
  'products.upsert': Operations['products']['upsert'];
  'products.update': Operations['products']['update'];
  'locations.create': Operations['locations']['create'];
  'locations.upsert': Operations['locations']['upsert'];
  'locations.update': Operations['locations']['update'];
  'inventory.adjust': Operations['inventory']['adjust'];
  'inventory.transfers.create': Operations['inventory']['transfers']['create'];
  'inventory.reservations.create': Operations['inventory']['reservations']['create'];
  'inventory.reservations.release': Operations['inventory']['reservations']['release'];
  'inventory.reservations.fulfil': Operations['inventory']['reservations']['fulfil'];
  'inventory.counts.create': Operations['inventory']['counts']['create'];
  'batches.submit': Operations['batches']['submit'];
  'webhooks.create': Operations['webhooks']['create'];
  'webhooks.update': Operations['webhooks']['update'];
  'webhooks.test': Operations['webhooks']['test'];
  'webhooks.redeliver': Operations['webhooks']['redeliver'];
  'people.invite': Operations['people']['invite'];
  'people.update': Operations['people']['update'];
  'people.invite_again': Operations['people']['invite_again'];
  'tokens.create': Operations['tokens']['create'];
  'tokens.update': Operations['tokens']['update'];
  'tokens.rotate': Operations['tokens']['rotate'];
}

/** LIST and ASK are GET with a query. Behind `?` is what a write needs. */
export const routes = {
  'customers.create': 'POST /customers',
  'customers.upsert': 'PATCH /customers?external_id',
  'customers.list': 'LIST /customers',
  'customers.update': 'PATCH /customers/{id}',
  'customers.get': 'GET /customers/{id}',
  'products.create': 'POST /products',
  'products.upsert': 'PATCH /products?external_id',
  'products.list': 'LIST /products',
  'products.update': 'PATCH /products/{id}',
  'products.get': 'GET /products/{id}',
  'locations.create': 'POST /locations',
  'locations.upsert': 'PATCH /locations?external_id',
  'locations.list': 'LIST /locations',
  'locations.update': 'PATCH /locations/{id}',
  'locations.get': 'GET /locations/{id}',
  'inventory.levels.list': 'LIST /inventory/levels',
  'products.levels.list': 'LIST /products/{id}/levels',
  'inventory.movements.list': 'LIST /inventory/movements',
  'inventory.movements.get': 'GET /inventory/movements/{id}',
  'inventory.adjust': 'POST /inventory/adjustments',
  'inventory.transfers.list': 'LIST /inventory/transfers',
  'inventory.transfers.create': 'POST /inventory/transfers',
  'inventory.transfers.get': 'GET /inventory/transfers/{id}',
  'inventory.reservations.list': 'LIST /inventory/reservations',
  'inventory.reservations.create': 'POST /inventory/reservations',
  'inventory.reservations.get': 'GET /inventory/reservations/{id}',
  'inventory.reservations.release': 'POST /inventory/reservations/{id}/release',
  'inventory.reservations.fulfil': 'POST /inventory/reservations/{id}/fulfil',
  'inventory.daily': 'LIST /inventory/daily',
  'stock.list': 'LIST /stock',
  'inventory.counts.list': 'LIST /inventory/counts',
  'inventory.counts.create': 'POST /inventory/counts',
  'inventory.counts.get': 'GET /inventory/counts/{id}',
  'batches.submit': 'POST /batches',
  'operations.list': 'LIST /operations',
  'operations.get': 'GET /operations/{id}',
  'events.list': 'LIST /events',
  'webhooks.create': 'POST /webhooks',
  'webhooks.list': 'LIST /webhooks',
  'webhooks.update': 'PATCH /webhooks/{id}',
  'webhooks.get': 'GET /webhooks/{id}',
  'webhooks.secret.get': 'GET /webhooks/{id}/secret',
  'webhooks.deliveries.get': 'GET /webhooks/{id}/deliveries',
  'webhooks.test': 'POST /webhooks/{id}/test',
  'webhooks.redeliver': 'POST /webhooks/{id}/redeliver',
  'people.invite': 'POST /people',
  'people.list': 'LIST /people',
  'people.update': 'PATCH /people/{id}',
  'people.get': 'GET /people/{id}',
  'people.invite_again': 'POST /people/{id}/invite',
  'tokens.create': 'POST /tokens',
  'tokens.list': 'LIST /tokens',
  'tokens.update': 'PATCH /tokens/{id}',
  'tokens.get': 'GET /tokens/{id}',
  'tokens.rotate': 'POST /tokens/{id}/rotate',
  'status.get': 'GET /status',
  'credential.get': 'GET /credential',
} as const;
