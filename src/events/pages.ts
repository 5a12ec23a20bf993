// A page of events, from one look at the journal. Records are shown as they are now.

import { type ByColumn, rowsOf } from '../contract/columns.ts';
import type { DataOf } from '../contract/contract.ts';
import type { AnyWriteEndpoint, Endpoint, Notices } from '../contract/endpoint.ts';
import { fetchSize } from '../contract/page.ts';
import type { OperationType, Resource } from '../contract/resource.ts';
import { limits } from '../core/limits.ts';
import type { CredentialKind, MerchantId } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reads } from '../core/statement.ts';
import { presentMovement } from '../inventory/endpoints.ts';
import type { MovementRow } from '../inventory/ledger.ts';
import type { listEvents } from './contract.ts';
import { kindOf } from './reach.ts';
import { type Reach, readFeed } from './store.ts';

export type Event = DataOf<typeof listEvents>;

interface EventRow {
  readonly operation_id: string;
  readonly position: number;
  readonly type: OperationType;
  readonly occurred_at: string;
  readonly resource_id: string;
  readonly created: boolean;
  readonly credential_id: string;
  readonly name: string;
  readonly kind: CredentialKind;
  readonly application_id: string | null;
  /** Of all its movements in reach, where there are more than are shown. */
  readonly counted: { readonly count: number; readonly locations: string[] | null } | null;
  /** The location that its write named. */
  readonly location_id: string | null;
  readonly notices: Notices | null;
}

type Moved = Omit<MovementRow, 'actor_name'> & { readonly bytes: number };

/** A look at the journal: what is in reach, and up to where all was judged. */
interface Look {
  readonly journal: string;
  readonly last: number;
  readonly rows: readonly EventRow[];
  readonly movements: ReadonlyMap<number, readonly Moved[]>;
}

export interface EventPage {
  readonly events: readonly Event[];
  /** Everything up to here was judged. */
  readonly through: number;
  readonly journal: string;
  /** The end of the journal. */
  readonly last: number;
}

export class EventPages {
  readonly #records: Records;

  /** Records are shown as the writes among these endpoints present them. */
  constructor(domains: readonly Endpoint[]) {
    this.#records = new Records(domains);
  }

  /** What is in reach behind a position. */
  async read(
    reads: Reads,
    merchant: MerchantId,
    { reach, after, limit }: { readonly reach: Reach; readonly after: number; limit: number },
  ): Promise<EventPage> {
    const look = await lookAt(reads, merchant, {
      reach,
      after,
      size: fetchSize({ limit, after: undefined }),
    });
    const { journal, last } = look;
    const wanted = look.rows.slice(0, limit);
    const bytes = await this.#records.measure(reads, merchant, wanted);
    const shown = untilFull(wanted, (row) => bytes.get(row.resource_id) ?? bytesOf(look, row));
    const found = await this.#records.find(reads, merchant, shown);
    const next = look.rows[shown.length];
    const horizon = Math.min(after + limits.eventsJudgedMax, last);
    const through = next === undefined ? horizon : next.position - 1;
    const movementsOf = ({ position }: EventRow) => look.movements.get(position) ?? [];
    return {
      events: shown.map((row) =>
        isOfRecord(row)
          ? recordEvent(row, found)
          : stockEvent(row, movementsOf(row), reach.granted),
      ),
      ...{ through, journal, last },
    };
  }
}

async function lookAt(
  reads: Reads,
  merchant: MerchantId,
  { reach, after, size }: { readonly reach: Reach; readonly after: number; readonly size: number },
): Promise<Look> {
  // Callers with one reach who were woken by one operation share a query.
  const answer = await reads.find(() => readFeed(merchant, after, reach, size), merchant);
  if (answer === undefined) throw new Error(`${merchant} has no journal`);
  const { journal, last } = answer;
  const movements = new Map<number, Moved[]>();
  for (const row of sharedRowsOf<Moved>(answer.movements)) {
    const others = movements.get(row.position);
    if (others === undefined) movements.set(row.position, [row]);
    else others.push(row);
  }
  return { journal, last, rows: sharedRowsOf<EventRow>(answer.events), movements };
}

/** Of columns that others who share the query need as well: taking rows of them empties them. */
function sharedRowsOf<Row extends object>(columns: object): readonly Row[] {
  return rowsOf<Row>([{ ...columns } as ByColumn<Row>]);
}

function bytesOf({ movements }: Look, { position, notices }: EventRow): number {
  const noticed = Object.values(notices ?? {}).flat().length * limits.noticeBytes;
  return (movements.get(position) ?? []).reduce((sum, { bytes }) => sum + bytes, noticed);
}

/** The rows up to the one that makes the page full. */
function untilFull(rows: readonly EventRow[], sizeOf: (row: EventRow) => number): EventRow[] {
  let bytes = 0;
  const full = rows.findIndex((row) => {
    bytes += sizeOf(row);
    return bytes >= limits.pageBytesMax;
  });
  return full < 0 ? [...rows] : rows.slice(0, full + 1);
}

/** A record as GET shows it. Null: it is erased. */
type Found = ReadonlyMap<string, object | null>;

/** What records are when their events are read. */
class Records {
  readonly #writes = new Map<Resource, AnyWriteEndpoint>();

  constructor(domains: readonly Endpoint[]) {
    for (const one of domains) {
      const { resource, kind } = one.contract;
      if (kind !== 'write' || resource.events === undefined) continue;
      if (!this.#writes.has(resource)) this.#writes.set(resource, one as AnyWriteEndpoint);
    }
  }

  /** Without the small ones. */
  async measure(
    reads: Reads,
    merchant: MerchantId,
    rows: readonly EventRow[],
  ): Promise<ReadonlyMap<string, number>> {
    const ofRecords = rows.filter(isOfRecord);
    if (ofRecords.length <= limits.recordsUnmeasuredMax) return new Map();
    const measured = ofRecords.map(async (row) => {
      const { measure } = this.#writeOf(row);
      const found = measure && (await reads.find((ids) => measure(merchant, ids), row.resource_id));
      return [row.resource_id, found?.bytes ?? 0] as const;
    });
    return new Map(await Promise.all(measured));
  }

  async find(reads: Reads, merchant: MerchantId, rows: readonly EventRow[]): Promise<Found> {
    const found = rows.filter(isOfRecord).map(async (row) => {
      const write = this.#writeOf(row);
      const record = await reads.find((ids) => write.find(merchant, ids), row.resource_id);
      return [row.resource_id, record === undefined ? null : shown(write, record)] as const;
    });
    return new Map(await Promise.all(found));
  }

  #writeOf(row: EventRow): AnyWriteEndpoint {
    const write = this.#writes.get(kindOf(row).resource);
    if (write === undefined) throw new Error(`nothing reads what ${row.type} writes`);
    return write;
  }
}

function isOfRecord(row: EventRow): boolean {
  return kindOf(row).resource.events?.areMovements !== true;
}

function shown(write: AnyWriteEndpoint, row: { readonly id: string }): object | null {
  try {
    return write.present(row);
  } catch (error) {
    if (error instanceof Problem && error.code === 'resource_erased') return null;
    throw error;
  }
}

/** An event of a record, which is shown as it is now. */
function recordEvent(row: EventRow, found: Found): Event {
  const { resource } = kindOf(row);
  const record = found.get(row.resource_id) ?? null;
  const version = record !== null && 'version' in record ? Number(record.version) : null;
  return eventOf(row, {
    resource: { type: resource.noun, id: row.resource_id, version },
    location_ids: resource.noun === 'location' ? [row.resource_id] : [],
    data: record,
  });
}

/** An event of the ledger, cut to the locations that are granted (null: all). */
function stockEvent(
  row: EventRow,
  moved: readonly Moved[],
  granted: readonly string[] | null,
): Event {
  const { noun } = kindOf(row).resource;
  const isGranted = (location: string) => granted === null || granted.includes(location);
  const { count, locations } = row.counted ?? {
    count: moved.length,
    locations: moved.map(({ location_id }) => location_id),
  };
  const notices = Object.entries(row.notices ?? {}).flatMap(([name, all]) => {
    const some = all.filter(({ location_id }) => isGranted(location_id));
    return some.length === 0 ? [] : [[name, some] as const];
  });
  const places = new Set([
    ...(locations ?? []),
    ...notices.flatMap(([, some]) => some.map(({ location_id }) => location_id)),
    ...(row.location_id !== null && isGranted(row.location_id) ? [row.location_id] : []),
  ]);
  // A movement is what was written: of an event that was cut the first in reach.
  const first = noun === 'inventory_movement' ? moved[0]?.id : undefined;
  return eventOf(row, {
    resource: { type: noun, id: first ?? row.resource_id, version: null },
    location_ids: [...places].sort(),
    data: {
      // A write has one actor.
      movements: moved.map((one) => presentMovement({ actor_name: row.name, ...one })),
      movement_count: count,
      ...Object.fromEntries(notices),
    },
  });
}

/** Member by member: Node 20 takes 1 µs for every member that is added behind a spread. */
function eventOf(
  row: EventRow,
  { resource, location_ids, data }: Pick<Event, 'resource' | 'location_ids' | 'data'>,
): Event {
  return {
    id: `evt_${row.operation_id.slice('op_'.length)}`,
    position: String(row.position),
    type: kindOf(row).event,
    occurred_at: row.occurred_at,
    operation_id: row.operation_id,
    actor: {
      credential_id: row.credential_id,
      name: row.name,
      kind: row.kind,
      application_id: row.application_id,
    },
    resource,
    location_ids,
    data,
  };
}
