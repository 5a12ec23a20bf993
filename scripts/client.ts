// Writes sdk/operations.ts, types and routes of the client, from the document. No maintained
// generator fits: openapi-typescript calls the compiler, and TypeScript 7 has nothing to call; the
// newest of hey-api needs Node 22. This one knows the forms of schemas that our document has.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import type {
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  ResponseObject,
} from '../src/http/document/model.ts';

/** Operations whose name in the client is another one, because it reads better. */
const readable: Readonly<Record<string, string>> = {
  'inventory.transfer': 'inventory.transfers.create',
  'inventory.count': 'inventory.counts.create',
  'inventory.reserve': 'inventory.reservations.create',
  'inventory.release': 'inventory.reservations.release',
  'inventory.fulfil': 'inventory.reservations.fulfil',
  'inventory.daily.list': 'inventory.daily',
};

/** The name of an operation in the client. */
export const nameInClient = (operationId: string): string => readable[operationId] ?? operationId;

/** What is read of a JSON schema. */
interface Part {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Part[];
  readonly items?: Part;
  readonly properties?: Readonly<Record<string, Part>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Part;
  readonly description?: string | undefined;
}

/** Callers send values that are known; answers may hold new ones some day. */
type Direction = 'sent' | 'answered';

/** One operation of the client: its declarations, its line in the tree, its route. */
interface Method {
  readonly name: string;
  readonly route: string;
  readonly isWrite: boolean;
  readonly input: string;
  readonly signature: string;
}

export function clientSource(document: OpenApiDocument): string {
  const schemas = document.components.schemas as Readonly<Record<string, Part>>;
  const methods = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, one]) => readMethod(document, method, path, one)),
  );
  const codes = schemas.Error?.properties?.error?.properties?.code ?? {};
  const source = [
    '// Generated from openapi.json by scripts/client.ts. Do not edit.\n\n',
    "import type { CallOptions, ChangeOptions, WriteOptions } from './options.ts';\n",
    "import type { Pages, Result } from './result.ts';\n\n",
    '/** The codes of this version of the interface. There will be more. */\n',
    `export type KnownCode = ${typeOf(codes, 'sent')};\n\n`,
    ...Object.entries(schemas).map(([name, part]) => declaration(name, part, 'answered')),
    ...methods.map(({ input }) => input),
    `/** Each operation of the interface. */\nexport interface Operations ${treeOf(methods)}\n\n`,
    '/** Those that write, by their names. */\nexport interface Writes {\n',
    ...methods.map(({ name, isWrite }) =>
      isWrite ? `'${name}': Operations['${name.replaceAll('.', "']['")}'];\n` : '',
    ),
    '}\n\n/** LIST and ASK are GET with a query. Behind `?` is what a write needs. */\n',
    'export const routes = {\n',
    ...methods.map(({ name, route }) => `'${name}': '${route}',\n`),
    '} as const;\n',
  ];
  return formatted(source.join(''));
}

function readMethod(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: OperationObject,
): Method {
  const parameters = operation.parameters.map((one) => resolve<ParameterObject>(document, one));
  const headers = parameters.flatMap((one) => (one.in === 'header' ? one.name : []));
  const query = parameters.filter((one) => one.in === 'query');
  const isList = query.some((one) => one.name === 'cursor');
  const body = operation.requestBody?.content['application/json'].schema as Part | undefined;
  const part = body ?? filtersOf(query);
  const prefix = operation.operationId.split('.').map(capital).join('');
  const input = `${prefix}${body ? 'Body' : 'Query'}`;
  const given = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, id]) => `${id}: string`),
    ...(body ? query.map((one) => `${camel(one.name)}: string`) : []),
  ];
  // A change without members is a mistake; all else that needs none may be asked for by name alone.
  const isOptional = method !== 'patch' && (part?.required ?? []).length === 0;
  if (part) given.push(`${body ? 'body' : 'query'}${isOptional ? '?' : ''}: ${input}`);
  const [, success] = Object.entries(operation.responses).find(([one]) => one < '300') ?? [];
  const { content } = resolve<ResponseObject>(document, success);
  const answer = content?.['application/json'].schema as Part | undefined;
  const { data, meta } = answer?.properties ?? {};
  const item = typeOf((isList ? data?.items : data) ?? {}, 'answered');
  const name = nameInClient(operation.operationId);
  const read = isList ? 'LIST' : 'ASK';
  const kind = body === undefined && part ? read : method.toUpperCase();
  const line = (options: string, shown: string) => {
    const types = `${shown}, ${typeOf(meta ?? {}, 'answered')}`;
    const result = isList ? `Pages<${types}>` : `Promise<Result<${types}>>`;
    return `${name.split('.').at(-1)}(${[...given, options].join(', ')}): ${result};\n`;
  };
  const unchanged = headers.includes('If-None-Match')
    ? line('options: CallOptions & { readonly ifNoneMatch: number }', `${item} | null`)
    : '';
  return {
    name,
    route: `${kind} ${path}${body ? query.map((one) => `?${one.name}`).join('') : ''}`,
    isWrite: body !== undefined,
    input: part ? declaration(input, part, 'sent') : '',
    signature:
      comment(operation.summary) + unchanged + line(`options?: ${optionsOf(headers)}`, item),
  };
}

/** The query of a read as a schema. */
function filtersOf(query: readonly ParameterObject[]): Part | undefined {
  if (query.length === 0) return undefined;
  const properties = query.map(({ name, schema, description }) => {
    const part = schema as Part;
    // Who repeats a parameter sends a list; who does not, may send the one value.
    const anyOf = part.type === 'array' && part.items ? [part.items, part] : [part];
    return [name, { anyOf, description }] as const;
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: query.flatMap(({ name, required }) => (required ? name : [])),
  };
}

function optionsOf(headers: readonly string[]): string {
  if (headers.includes('If-Match')) return 'ChangeOptions';
  return headers.includes('Idempotency-Key') ? 'WriteOptions' : 'CallOptions';
}

function resolve<Found>(document: OpenApiDocument, one: unknown): Found {
  const [, ...path] = Object(one).$ref?.split('/') ?? [];
  return path.reduce((at: unknown, step: string) => Object(at)[step], path[0] ? document : one);
}

/** Objects in objects, as the dots of the names say. */
function treeOf(methods: readonly Method[], depth = 0): string {
  const partOf = ({ name }: Method) => name.split('.')[depth];
  const members = [...new Set(methods.map(partOf))].map((part) => {
    const some = methods.filter((one) => partOf(one) === part);
    const leaf = some.find(({ name }) => name.split('.').length === depth + 1);
    return leaf?.signature ?? `readonly ${part}: ${treeOf(some, depth + 1)};\n`;
  });
  return `{\n${members.join('')}}`;
}

function declaration(name: string, part: Part, direction: Direction): string {
  const type = typeOf(part, direction);
  return `${comment(part.description)}export interface ${name} ${type}\n\n`;
}

function typeOf(part: Part, direction: Direction): string {
  if (part.$ref !== undefined) return part.$ref.split('/').at(-1) ?? '';
  if (part.anyOf !== undefined) return part.anyOf.map((one) => typeOf(one, direction)).join(' | ');
  const values = part.enum ?? ('const' in part ? [part.const] : undefined);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  const types = [part.type ?? []].flat().map((type) => {
    if (type === 'integer') return 'number';
    if (type === 'array')
      return `${direction === 'sent' ? 'readonly ' : ''}(${typeOf(part.items ?? {}, direction)})[]`;
    return type === 'object' ? objectOf(part, direction) : type;
  });
  if (types.length === 0) throw new Error(`there is no type for ${JSON.stringify(part)}`);
  return types.join(' | ');
}

function objectOf(part: Part, direction: Direction): string {
  const { properties, additionalProperties: others, required = [] } = part;
  if (properties === undefined && typeof others !== 'object' && direction === 'sent')
    return 'object';
  const members = Object.entries(properties ?? {}).map(([name, member]) => {
    const isNeeded = required.includes(name);
    const none = isNeeded || direction === 'answered' ? '' : ' | undefined';
    const isOpen = direction === 'answered' && (name === 'code' || name === 'type') && member.enum;
    const open = isOpen ? ' | (string & {})' : '';
    const type = `${typeOf(member, direction)}${open}${none}`;
    return `${comment(member.description)}${name}${isNeeded ? '' : '?'}: ${type};\n`;
  });
  const any = typeof others === 'object' ? typeOf(others, direction) : 'unknown';
  return `{\n${members.join('')}${others ? `[name: string]: ${any};\n` : ''}}`;
}

function comment(text: string | undefined): string {
  if (text === undefined) return '';
  const lines = text.replace(/\s+/g, ' ').match(/.{1,84}(?: |$)/g) ?? [];
  const [first = ''] = lines;
  if (lines.length === 1) return `/** ${first} */\n`;
  return `/**\n${lines.map((line) => ` * ${line.trim()}\n`).join('')} */\n`;
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const camel = (name: string) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

function formatted(source: string): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  const args = [biome, 'format', '--stdin-file-path=sdk/operations.ts'];
  return execFileSync(process.execPath, args, { input: source, encoding: 'utf8' });
}
