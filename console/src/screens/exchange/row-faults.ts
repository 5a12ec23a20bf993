// What is wrong with a row, by the schema of its noun. The service compiles its schemas, which the
// policy of this page forbids; here they are read, and the service has the last word.

import { formats } from '../../../../src/contract/format.ts';
import type { JsonObject, JsonValue } from '../../../../src/contract/json.ts';
import { countInventory } from '../../../../src/counts/contract.ts';
import { isRecordNoun, type Noun } from '../../../../src/exchange/nouns.ts';
import { productFaults } from '../../../../src/products/faults.ts';
import { texts } from '../../texts.ts';

const words = texts.exchange.faults;

type Fault = ReturnType<Noun['faults']>[number];

/** The members of a JSON Schema that are judged here. */
interface Plain {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Plain[];
  readonly properties?: Readonly<Record<string, Plain>>;
  readonly required?: readonly string[];
}

export function rowFaults(noun: Noun, body: JsonObject): Fault[] {
  const { properties } = isRecordNoun(noun) ? noun.resource.patchBody : countLine;
  const schema = { properties } as unknown as Plain;
  const faults = membersOf(schema, body, '');
  if (faults.length > 0 || noun.name !== 'products') return faults;
  return productFaults(body as Parameters<typeof productFaults>[0]);
}

/** A row names its product as it can, and the service looks it up. */
const countLine = (() => {
  const { product_id: _, ...properties } = countInventory.body.properties.lines.items.properties;
  return { properties };
})();

function membersOf({ properties = {} }: Plain, object: JsonObject, before: string): Fault[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const schema = properties[name];
    return schema === undefined ? [] : valueFaults(schema, value, before + name);
  });
}

function valueFaults(schema: Plain, value: JsonValue | undefined, field: string): Fault[] {
  const branches = schema.anyOf ?? [schema];
  if (value === null || value === undefined) {
    const isNullable = branches.some(({ type }) => type === 'null');
    return isNullable ? [] : [fault(field, words.empty)];
  }
  const branch = branches.find(({ type }) => type !== 'null') ?? {};
  if (branch.properties !== undefined) return objectFaults(branch, value, field);
  const message = scalarFault(branch, value);
  return message === undefined ? [] : [fault(field, message)];
}

function objectFaults(schema: Plain, value: JsonValue, field: string): Fault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [fault(field, words.object)];
  }
  const missing = (schema.required ?? []).filter((name) => (value[name] ?? null) === null);
  return missing.length > 0
    ? missing.map((name) => fault(`${field}.${name}`, words.empty))
    : membersOf(schema, value, `${field}.`);
}

function scalarFault(schema: Plain, value: JsonValue): string | undefined {
  const { type, minimum = -Infinity, maximum = Infinity } = schema;
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return words.oneOf(schema.enum.join(', '));
  }
  if (type === 'integer') {
    const isOne = Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
    return isOne ? undefined : words.integer;
  }
  if (type === 'boolean') return typeof value === 'boolean' ? undefined : words.boolean;
  return type === 'string' ? textFault(schema, value) : undefined;
}

function textFault(schema: Plain, value: JsonValue): string | undefined {
  const { minLength = 0, maxLength = Infinity, pattern, format } = schema;
  if (typeof value !== 'string') return words.text;
  const { length } = [...value];
  if (length < minLength) return words.empty;
  if (length > maxLength) return words.long(maxLength);
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return words.form;
  const check = format === undefined ? undefined : formats[format as keyof typeof formats];
  return check?.(value)?.message;
}

const fault = (field: string, message: string): Fault => ({
  ...{ field, code: 'invalid_value' as Fault['code'], message },
});
