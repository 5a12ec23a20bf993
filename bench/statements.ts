// The service's reads as statements: an endpoint is run with a reader that keeps what it is asked,
// so that a statement which changes is measured as it is, with nothing to change here.

import { operatorPrincipal } from '../src/access/operator/operator.ts';
import { endpoints } from '../src/app.ts';
import type { CollectionEndpoint, MemberEndpoint } from '../src/contract/endpoint.ts';
import type { Page } from '../src/contract/page.ts';
import type { GrantedLocationId, MerchantId, Principal } from '../src/core/principal.ts';
import { type Reader, readsOf, type Statement } from '../src/core/statement.ts';

/** A page of a list, as somebody asks for it who may see all of the merchant. */
export interface PageQuestion {
  /** The path of its contract. */
  readonly path: string;
  readonly merchant: string;
  readonly credential: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly location?: string;
  readonly id?: string;
  readonly limit?: number;
  readonly after?: string;
}

const rowsPerPage = 50;

export function runList(reader: Reader, asked: PageQuestion): Promise<Page<object>> {
  const { path, query = {}, location, id = '', limit = rowsPerPage, after } = asked;
  const endpoint = endpoints.find(
    ({ contract }) => contract.kind === 'collection' && contract.path === path,
  ) as CollectionEndpoint | undefined;
  if (endpoint === undefined) throw new Error(`there is no list ${path}`);
  return endpoint.run(readsOf(reader), {
    principal: principalOf(asked),
    location: location as GrantedLocationId | undefined,
    id,
    query: query as never,
    page: { limit, after },
    keyHash: undefined,
  });
}

/** The statement of a page: the last one that its endpoint sends. */
export async function listStatement(asked: PageQuestion): Promise<Statement> {
  const sent: Statement[] = [];
  const answers: unknown[][] = [[{}]];
  const reader: Reader = {
    query: async <Row>(statement: Statement<Row>) => {
      sent.push(statement);
      return (answers[sent.length - 1] ?? []) as Row[];
    },
  };
  await runList(reader, asked).catch(() => undefined);
  const last = sent.at(-1);
  if (last === undefined) throw new Error(`${asked.path} sends nothing`);
  return last;
}

/** The statement that reads a resource by its ID. */
export async function memberStatement(
  path: string,
  asked: Pick<PageQuestion, 'merchant' | 'credential'>,
  id: string,
): Promise<Statement> {
  const endpoint = endpoints.find(
    ({ contract }) => contract.kind === 'member' && contract.path === path,
  ) as MemberEndpoint | undefined;
  const sent: Statement[] = [];
  const reads = {
    query: async () => [],
    find: async (statementOf: (ids: readonly string[]) => Statement, one: string) => {
      sent.push(statementOf([one]));
      return undefined;
    },
  };
  await endpoint?.run(reads, principalOf(asked), id);
  const [found] = sent;
  if (found === undefined) throw new Error(`${path} sends nothing`);
  return found;
}

function principalOf(asked: Pick<PageQuestion, 'merchant' | 'credential'>): Principal {
  const merchant_id = asked.merchant as MerchantId;
  const id = asked.credential;
  return operatorPrincipal({ id, name: 'bench', merchant_id, merchant_name: '', cell: '' });
}
