// What becomes of a reservation: made of what is available, and ended once.

import type { JsonObject, JsonValue } from '../../src/contract/json.ts';
import {
  available,
  closed,
  lacking,
  lineFaults,
  linesOf,
  move,
  onHand,
  placeOf,
  refused,
  statusNow,
} from './ledger.ts';
import { type Detail, done, type Minted, rejected, type Verdict } from './rules.ts';
import { actorOf, type Credential, type Merchant, unitsOf, type Write } from './world.ts';

const day = 86_400_000;

export function reserve(credential: Credential, { body }: Write): Verdict {
  const { merchant } = credential;
  const { location_id = null, expires_at = null, note = null, reference = null } = body;
  const lines = linesOf(body);
  const first = [
    ...closed(merchant, location_id, 'location_id'),
    ...lineFaults(merchant, lines),
    ...expiryFaults(expires_at),
  ];
  if (first.length > 0) return refused(first);
  const faults = lacking(lines, (line) =>
    available(merchant, placeOf(line.product_id, location_id)),
  );
  if (faults.length > 0) return refused(faults);
  return done(({ id, at, operation }) => {
    const row: JsonObject = {
      ...{ id, location_id, status: 'active', expires_at, note, reference },
      lines: lines.map((line) => ({ ...line })),
      ...{ operation_id: operation, actor: actorOf(credential), recorded_at: at },
      ...{ end_operation_id: null, ended_at: null, end_note: null, movement_ids: [] },
    };
    merchant.reservations.set(id, row);
    return row;
  });
}

function expiryFaults(expiry: JsonValue): Detail[] {
  if (expiry === null) return [];
  const left = Date.parse(String(expiry)) - Date.now();
  const isInTime = left > 0 && left <= 90 * day;
  return isInTime ? [] : [{ field: 'expires_at', code: 'value_not_allowed' }];
}

export function release({ merchant }: Credential, { id, body }: Write): Verdict {
  const row = merchant.reservations.get(id) ?? {};
  const ended = notActive(row);
  if (ended !== undefined) return ended;
  return done(({ at, operation }) =>
    end(merchant, row, { status: 'released', at, operation, note: body.note ?? null }),
  );
}

export function fulfil(credential: Credential, { id, body }: Write): Verdict {
  const { merchant } = credential;
  const row = merchant.reservations.get(id) ?? {};
  const ended = notActive(row);
  if (ended !== undefined) return ended;
  const first = [...closed(merchant, row.location_id, 'id'), ...lineFaults(merchant, linesOf(row))];
  if (first.length > 0) return refused(first);
  const faults = lacking(linesOf(row), (line) =>
    onHand(merchant, placeOf(line.product_id, row.location_id)),
  );
  if (faults.length > 0) return refused(faults);
  return done((minted) => {
    const { at, operation } = minted;
    const movement_ids = takeOut(credential, minted, row, body);
    const note = body.note ?? null;
    return end(merchant, row, { status: 'fulfilled', at, operation, note, movement_ids });
  });
}

function takeOut(
  credential: Credential,
  minted: Minted,
  row: JsonObject,
  body: JsonObject,
): string[] {
  const shown = (minted.data.movement_ids ?? []) as readonly JsonValue[];
  const location_id = String(row.location_id);
  return linesOf(row).map(({ product_id, quantity }, n) => {
    const id = minted.adopt(shown[n], 'imv_');
    const after = onHand(credential.merchant, placeOf(product_id, location_id));
    const step = {
      ...{ id, line: n + 1, product_id, location_id, type: 'fulfilment' },
      reason: body.reason ?? null,
      note: body.note ?? row.note ?? null,
      reference: body.reference ?? row.reference ?? null,
    };
    move(credential, minted, step, after - unitsOf(quantity));
    return id;
  });
}

function notActive(row: JsonObject): Verdict | undefined {
  const status = statusNow(row);
  if (status === 'active') return undefined;
  const code = 'reservation_not_active';
  return rejected(422, code, [{ field: 'id', code, status }]);
}

interface End {
  readonly status: 'released' | 'fulfilled' | 'expired';
  readonly at: string;
  readonly operation: string;
  readonly note: JsonValue;
  readonly movement_ids?: readonly string[];
}

export function end(
  merchant: Merchant,
  row: JsonObject,
  { status, at, operation, note, movement_ids = [] }: End,
): JsonObject {
  const ended: JsonObject = {
    ...row,
    ...{ status, end_operation_id: operation, ended_at: at, end_note: note },
    movement_ids: [...movement_ids],
  };
  merchant.reservations.set(String(row.id), ended);
  return ended;
}

export const reservationShown = (row: JsonObject): JsonObject => ({
  ...row,
  status: statusNow(row),
});

/** What its event says of what it holds, or held. */
export const noticesOf = (row: JsonObject): JsonObject[] =>
  linesOf(row).map((line) => ({ location_id: row.location_id ?? null, ...line }));
