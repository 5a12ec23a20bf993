// From what a request says to what its contract means: query and body are checked against the
// contract's schemas, every fault is reported at once, and a body is normalised so that requests
// which mean the same are equal.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { canonicalQuantity, quantityFault } from '../core/decimal.ts';
import { limits } from '../core/limits.ts';
import { type Detail, type DetailCode, Problem } from '../core/problem.ts';
import type { Contract, WriteContract } from './contract.ts';
import { type Format, formats, utcTime } from './format.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { pageQuery } from './page.ts';

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: false,
  unicodeRegExp: true,
  // Compiling the schema of schemas took 40 ms; `npm run lint:api` judges ours.
  meta: false,
  validateSchema: false,
});
for (const [name, fault] of Object.entries(formats)) {
  ajv.addFormat(name, { type: 'string', validate: (text: string) => fault(text) === undefined });
}

/** Compiles a schema when it is first needed: all of them took 80 ms of every start. */
function onDemand(schemaOf: () => object): () => ValidateFunction {
  let compiled: ValidateFunction | undefined;
  return () => {
    compiled ??= ajv.compile(schemaOf());
    return compiled;
  };
}

/** A schema as JSON Schema says it: the members this file reads. */
interface Plain {
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly anyOf?: readonly Plain[];
  readonly properties?: Readonly<Record<string, Plain>>;
  readonly required?: readonly string[];
  readonly items?: Plain;
  readonly maxItems?: number;
}

/** Refuses members that an object schema does not name; metadata-like records stay open. */
export function closed(schema: TSchema): TSchema {
  const plain = schema as unknown as Plain;
  if (plain.anyOf !== undefined) {
    return { ...schema, anyOf: plain.anyOf.map((one) => closed(one as TSchema)) } as TSchema;
  }
  if (plain.items !== undefined) {
    return { ...schema, items: closed(plain.items as TSchema) } as unknown as TSchema;
  }
  if (plain.properties === undefined) return schema;
  const properties = Object.fromEntries(
    Object.entries(plain.properties).map(([name, one]) => [name, closed(one as TSchema)]),
  );
  return { ...schema, properties, additionalProperties: false } as unknown as TSchema;
}

type Form = Pick<WriteContract, 'method' | 'body' | 'data'>;

/** Checks and normalises the bodies of one write. */
export class BodyParser {
  readonly #contract: Form;
  readonly #validator: () => ValidateFunction;
  readonly #readOnly: ReadonlySet<string>;

  constructor(contract: Form) {
    this.#contract = contract;
    this.#validator = onDemand(() => closed(contract.body));
    this.#readOnly = new Set(Object.keys((contract.data as unknown as Plain).properties ?? {}));
  }

  /** Every fault of a body; none when it is usable. */
  faults(body: JsonObject): Detail[] {
    const validate = this.#validator();
    if (validate(withoutExcess(this.#contract.body as unknown as Plain, body))) return [];
    return detailsOf(validate.errors ?? [], (field) =>
      this.#readOnly.has(field) ? 'read_only' : 'unknown_field',
    );
  }

  /**
   * What a body means. On a create every member is there, with its default or null, also of the
   * objects in a list; in a PATCH only the members sent are. Quantities are canonical, and times in
   * UTC. A value that cannot be used is as it was sent.
   */
  normalise(body: JsonObject): Record<string, unknown> {
    return normalised(this.#contract.body as unknown as Plain, body, {
      isCreate: this.#contract.method === 'POST',
    });
  }
}

/**
 * A list that is too long is judged by one element more than it may have. The faults of 24,000
 * took ten times as long to collect. Any other body is judged as it is, without a copy.
 */
function withoutExcess({ properties = {} }: Plain, body: JsonObject): JsonObject {
  let judged = body;
  for (const [name, { maxItems = Infinity }] of Object.entries(properties)) {
    const value = body[name];
    if (!Array.isArray(value) || value.length <= maxItems) continue;
    judged = { ...judged, [name]: value.slice(0, maxItems + 1) };
  }
  return judged;
}

function normalised(
  { properties = {} }: Plain,
  object: JsonObject,
  { isCreate }: { readonly isCreate: boolean },
): Record<string, unknown> {
  const meant: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = object[name];
    if (value === undefined || (value === null && isCreate)) {
      if (isCreate) meant[name] = schema.default ?? null;
    } else {
      meant[name] = isLines(schema) ? lines(schema, value) : scalar(schema, value);
    }
  }
  return meant;
}

/** Whether it is a list of objects with members of their own. */
function isLines({ items }: Plain): boolean {
  return items?.properties !== undefined;
}

/**
 * A line with unknown members is as it was sent: it is refused, and equals only itself. So is a
 * list that is too long: with the defaults of 24,000 lines a fingerprint took 110 ms.
 */
function lines({ items = {}, maxItems = Infinity }: Plain, value: JsonValue): unknown {
  if (!Array.isArray(value) || value.length > maxItems) return value;
  return value.map((line) => {
    if (typeof line !== 'object' || line === null || Array.isArray(line)) return line;
    return { ...line, ...normalised(items, line, { isCreate: true }) };
  });
}

function scalar(schema: Plain, value: JsonValue): JsonValue {
  if (isOf(schema, 'date-time')) return inUtc(value);
  return isOf(schema, 'quantity') ? canonical(value) : value;
}

/** Only of a valid time. */
function inUtc(value: JsonValue): JsonValue {
  const isUsable = typeof value === 'string' && formats['date-time'](value) === undefined;
  return isUsable ? utcTime(value) : value;
}

/** Only of a valid quantity, because "12." or "1.000004" must not lose a digit. */
function canonical(value: JsonValue): JsonValue {
  const isUsable = typeof value === 'string' && quantityFault(value) === undefined;
  return isUsable ? canonicalQuantity(value) : value;
}

function isOf(schema: Plain, format: Format): boolean {
  return schema.format === format || (schema.anyOf ?? []).some((one) => isOf(one, format));
}

/** Checks the query of a collection or an upsert, and of everything else that it is empty. */
export class QueryParser {
  readonly #properties: Readonly<Record<string, Plain>>;
  readonly #required: ReadonlySet<string>;
  readonly #validator: () => ValidateFunction;

  constructor(contract: Contract) {
    const query = contract.kind === 'member' ? undefined : contract.query;
    const filters = query as unknown as Plain | undefined;
    const page = contract.kind === 'collection' ? pageQuery : {};
    this.#properties = { ...filters?.properties, ...(page as unknown as Record<string, Plain>) };
    this.#required = new Set(filters?.required ?? []);
    this.#validator = onDemand(() => ({ type: 'object', properties: this.#properties }));
  }

  /**
   * @throws Problem unknown_parameter, missing_parameter or invalid_parameter, naming all faults.
   */
  parse(search: URLSearchParams): Record<string, unknown> {
    const details: Detail[] = [];
    const query: Record<string, unknown> = {};
    for (const name of new Set(search.keys())) {
      const schema = Object.hasOwn(this.#properties, name) ? this.#properties[name] : undefined;
      const values = search.getAll(name);
      const field = `query.${name}`;
      if (schema === undefined) {
        details.push({ field, code: 'unknown_field', message: 'is not known to this route' });
      } else if (schema.type === 'array') {
        query[name] = values;
      } else if (values.length > 1) {
        details.push({ field, code: 'not_repeatable', message: 'must be given once' });
      } else {
        query[name] = schema.type === 'integer' ? integer(values[0]) : values[0];
      }
    }
    for (const name of this.#required) {
      if (!search.has(name)) {
        details.push({ field: `query.${name}`, code: 'required', message: 'is required' });
      }
    }
    const validate = this.#validator();
    if (!validate(query)) {
      const faults = detailsOf(validate.errors ?? [], () => 'unknown_field');
      details.push(...faults.map((fault) => ({ ...fault, field: `query.${fault.field}` })));
    }
    if (details.length > 0) throw new Problem(queryProblem(details), { details });
    return this.#inUtc(query);
  }

  /** Times as the database takes them: it refuses offsets that RFC 3339 allows. */
  #inUtc(query: Record<string, unknown>): Record<string, unknown> {
    const members = Object.entries(query).map(([name, value]) => [
      name,
      timeOf(this.#properties[name]?.format, value),
    ]);
    return Object.fromEntries(members);
  }
}

function timeOf(format: string | undefined, value: unknown): unknown {
  if (format === 'date-time') return utcTime(String(value));
  return format === 'moment' && value !== 'now' ? utcTime(String(value), 'down') : value;
}

/** Only plain decimal digits are an integer here: not 1e2, not +1, not Arabic-Indic digits. */
function integer(text: string | undefined): unknown {
  return text !== undefined && /^(?:0|-?[1-9][0-9]{0,8})$/.test(text) ? Number(text) : text;
}

function queryProblem(details: readonly Detail[]) {
  if (details.some((detail) => detail.code === 'unknown_field')) return 'unknown_parameter';
  if (details.some((detail) => detail.code === 'required')) return 'missing_parameter';
  return 'invalid_parameter';
}

type NameUnknown = (field: string) => DetailCode;

/** One detail per field: the first fault of each, by the order in which the schema states them. */
function detailsOf(errors: readonly ErrorObject[], nameUnknown: NameUnknown): Detail[] {
  const byField = new Map<string, Detail>();
  // A union of something and null reports both branches; the branch that is not null matters.
  const unions = new Set(
    errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath),
  );
  for (const error of errors) {
    const { keyword, params, instancePath } = error;
    const isNullBranch = keyword === 'type' && params.type === 'null' && unions.has(instancePath);
    if (keyword === 'anyOf' || keyword === 'propertyNames' || isNullBranch) continue;
    const detail = detailOf(error, nameUnknown);
    const name = detail.field ?? '';
    if (!byField.has(name)) byField.set(name, detail);
    if (byField.size === limits.faultsNamedMax) break;
  }
  return [...byField.values()];
}

function detailOf(error: ErrorObject, nameUnknown: NameUnknown): Detail {
  const { params, propertyName } = error;
  const place = error.instancePath
    .split('/')
    .slice(1)
    .map((name) => echoed(name.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('.');
  const field = propertyName === undefined ? place : joined(place, propertyName);
  switch (error.keyword) {
    case 'required':
      return fault(joined(field, String(params.missingProperty)), 'required', 'is required');
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const code = field === '' ? nameUnknown(name) : 'unknown_field';
      const message = code === 'read_only' ? 'cannot be set here' : 'is not known';
      return fault(joined(field, name), code, message);
    }
    case 'type':
      return typeFault(field, error);
    case 'enum': {
      const allowed: unknown = params.allowedValues;
      const message = `must be one of ${(allowed as string[]).join(', ')}`;
      return { field, code: 'value_not_allowed', message, allowed };
    }
    case 'format':
      return formatFault(field, error);
    default:
      return boundFault(field, error);
  }
}

function typeFault(field: string, error: ErrorObject): Detail {
  if (error.data === null) return fault(field, 'required', 'cannot be null');
  return fault(field, 'invalid_type', `must be ${withArticle(String(error.params.type))}`);
}

function formatFault(field: string, error: ErrorObject): Detail {
  const found = formats[error.params.format as Format]?.(String(error.data));
  return fault(field, found?.code ?? 'invalid_format', found?.message ?? 'has a bad format');
}

const bounds: Readonly<Record<string, readonly [DetailCode, string]>> = {
  minLength: ['too_short', 'must have at least # characters'],
  maxLength: ['too_long', 'must have at most # characters'],
  minItems: ['value_not_allowed', 'must name at least #'],
  maxItems: ['too_many', 'may be given at most # times'],
  maxProperties: ['too_many', 'may have at most # members'],
  minimum: ['value_not_allowed', 'must be at least #'],
  maximum: ['too_large', 'must be at most #'],
};

function boundFault(field: string, error: ErrorObject): Detail {
  // The format of a quantity also limits its length.
  if (error.parentSchema?.format === 'quantity') {
    const tooLong = quantityFault(String(error.data));
    if (tooLong !== undefined) return { field, ...tooLong };
  }
  const [code, text] = bounds[error.keyword] ?? ['invalid_format', 'has a bad format'];
  return fault(field, code, text.replace('#', String(error.params.limit)));
}

function fault(field: string, code: DetailCode, message: string): Detail {
  return { field, code, message };
}

/**
 * How much of an unknown name is echoed, so that its sender can find it: no known one is longer.
 */
const echoedLengthMax = 50;

function echoed(name: string): string {
  const letters = [...name];
  if (letters.length <= echoedLengthMax) return name;
  return `${letters.slice(0, echoedLengthMax).join('')}…`;
}

function joined(field: string, name: string): string {
  return field === '' ? echoed(name) : `${field}.${echoed(name)}`;
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The filters of a query in a canonical order, without the page's start and length. */
export function canonicalFilters(query: Record<string, unknown>): string {
  const filters = Object.entries(query)
    .filter(([name]) => name !== 'limit' && name !== 'cursor')
    .map(([name, value]) => [name, Array.isArray(value) ? [...new Set(value)].sort() : value])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return JSON.stringify(filters);
}
