// Finds what became of a request by an operation's ID, a request's ID or an Idempotency-Key.

import { NotFoundError, type Operation, type OperationsListQuery } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { tb } from '../../service/client.ts';
import { useMay, useMe } from '../../service/me.tsx';
import { texts } from '../../texts.ts';

export type OperationType = NonNullable<OperationsListQuery['type']>;

export const types = Object.keys(texts.requests.types) as readonly OperationType[];

/** How what somebody pasted is understood. */
export type Pasted = 'operation' | 'request' | 'key' | 'nothing';

export function understood(q: string): Pasted {
  if (/^op_[0-9a-z]{26}$/.test(q)) return 'operation';
  if (/^req_[0-9a-z]{26}$/.test(q)) return 'request';
  return /^[\x21-\x7e]{16,255}$/.test(q) ? 'key' : 'nothing';
}

interface Caller {
  readonly id: string;
  readonly name: string;
}

/** Whose requests they may be: people and programs, or whoever wrote something lately. */
export function useCallers() {
  const { person } = useMe();
  const mayReadAccess = useMay('access.read');
  const { data, isPending } = useQuery({
    queryKey: ['callers', mayReadAccess],
    staleTime: 60_000,
    queryFn: ({ signal }) => (mayReadAccess ? readAccess(signal) : readActors(signal)),
  });
  const others = (data ?? []).filter(({ id }) => id !== person.id);
  const callers: readonly Caller[] = [{ id: person.id, name: person.name }, ...others];
  return { callers, isPending };
}

async function readAccess(signal: AbortSignal): Promise<Caller[]> {
  const [{ data: people }, { data: tokens }] = await Promise.all([
    tb.people.list({ limit: 100 }, { signal }),
    tb.tokens.list({ limit: 100 }, { signal }),
  ]);
  return [...tokens, ...people].map(({ id, name }) => ({ id, name }));
}

async function readActors(signal: AbortSignal): Promise<Caller[]> {
  const { data } = await tb.operations.list({ limit: 200 }, { signal });
  const byId = new Map(data.map(({ actor }) => [actor.credential_id, actor.name]));
  return [...byId].map(([id, name]) => ({ id, name }));
}

/** Empty: nothing is known. */
export function useFound(q: string, by: string | undefined) {
  return useQuery({
    queryKey: ['what became', q, by],
    queryFn: ({ signal }) => find(q, by, signal),
  });
}

async function find(
  q: string,
  by: string | undefined,
  signal: AbortSignal,
): Promise<readonly Operation[]> {
  const kind = understood(q);
  if (kind === 'operation') return findOne(q, signal);
  if (kind === 'request') return (await tb.operations.list({ request_id: q }, { signal })).data;
  if (kind === 'nothing') return [];
  const query = by === undefined ? {} : { credential_id: by };
  return (await tb.operations.list(query, { signal, idempotencyKey: q })).data;
}

async function findOne(id: string, signal: AbortSignal): Promise<readonly Operation[]> {
  try {
    return [(await tb.operations.get(id, { signal })).data];
  } catch (error) {
    if (error instanceof NotFoundError) return [];
    throw error;
  }
}
