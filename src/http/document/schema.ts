// From a contract's schema to the one that is published: named schemas become components, our own
// formats become patterns that every tool knows, and what an answer always keeps to (times in UTC,
// integers that are exact) is said. Nothing is published that validation does not hold.

import type { TSchema } from 'typebox';
import { type Format, formats } from '../../contract/format.ts';
import { refTo, type Schema } from './model.ts';

/** Whether a schema describes what is sent to the service or what it answers. */
export type Direction = 'in' | 'out';

/** Collects the named schemas that the published ones refer to. */
export class SchemaComponents {
  readonly #schemas = new Map<string, Schema>();

  /** The published form of a contract's schema, or a reference to it when it has a name. */
  publish(schema: TSchema | Schema, direction: Direction): Schema {
    const { $id, ...members } = schema as Schema;
    if (typeof $id !== 'string') return this.#translate(members, direction);
    if (!this.#schemas.has($id)) {
      // Reserved first: a schema may refer to itself.
      this.#schemas.set($id, {});
      this.#schemas.set($id, this.#translate(members, direction));
    }
    return refTo('schemas', $id);
  }

  add(name: string, schema: Schema): void {
    this.#schemas.set(name, schema);
  }

  /** By name, so that the order of endpoints does not matter. */
  all(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #translate(schema: Schema, direction: Direction): Schema {
    if (typeof schema.$ref === 'string') {
      return { ...schema, ...refTo('schemas', schema.$ref) };
    }
    const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
      switch (keyword) {
        case 'properties':
          return [keyword, this.#publishMembers(value as Record<string, Schema>, direction)];
        case 'patternProperties':
          return ['additionalProperties', this.#recordValue(value as object, direction)];
        case 'items':
        case 'propertyNames':
          return [keyword, this.publish(value as Schema, direction)];
        case 'anyOf':
          return [keyword, (value as Schema[]).map((one) => this.publish(one, direction))];
        default:
          return [keyword, value];
      }
    });
    return collapseNull(stateForm(Object.fromEntries(entries), direction));
  }

  #publishMembers(members: Readonly<Record<string, Schema>>, direction: Direction): Schema {
    return Object.fromEntries(
      Object.entries(members).map(([name, one]) => [name, this.publish(one, direction)]),
    );
  }

  /** A record has one pattern that every name matches; tools know that as additionalProperties. */
  #recordValue(patterns: object, direction: Direction): Schema {
    const [one, ...others] = Object.values(patterns) as Schema[];
    if (one === undefined || others.length > 0) throw new Error('a record has one value schema');
    return this.publish(one, direction);
  }
}

const noControls = '[^\\u0000-\\u001f\\u007f-\\u009f]';

/** What a client that checks before it sends can use instead of our own formats. */
const publishedForms: Readonly<Record<Format, Schema>> = {
  quantity: { pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,5}0*)?$' },
  text: { pattern: `^${noControls}*$` },
  name: { pattern: `^(?=.*\\S)${noControls}*$` },
  // Addresses with international characters are accepted, which `email` would exclude.
  email: { format: 'idn-email' },
  phone: { pattern: '^\\+[1-9][0-9]{1,14}$' },
  'time-zone': { format: 'time-zone' },
  date: { format: 'date' },
  'date-time': { format: 'date-time' },
  moment: { pattern: '^(now|\\d{4}-\\d{2}-\\d{2}[Tt].{9,})$', maxLength: 35 },
};

/** Times in answers are in UTC with milliseconds, so that they sort as text. */
const times: Readonly<Record<Direction, Schema>> = {
  in: { maxLength: 35 },
  out: { pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$', maxLength: 24 },
};

function stateForm(schema: Schema, direction: Direction): Schema {
  if (schema.type === 'integer') {
    // A JSON number that is exact for every reader.
    const maximum = schema.maximum ?? Number.MAX_SAFE_INTEGER;
    const format = Number(maximum) < 2 ** 31 ? 'int32' : 'int64';
    return { ...schema, format, maximum };
  }
  const { format, ...others } = schema;
  if (typeof format !== 'string' || !(format in formats)) return schema;
  const form = publishedForms[format as Format];
  const time = format === 'date-time' ? times[direction] : {};
  return { ...others, ...form, ...time };
}

/** "This or null" as a list of types, which tools show better than a union. */
function collapseNull(schema: Schema): Schema {
  const { anyOf, ...others } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const [one, nothing, ...more] = anyOf as Schema[];
  const isNullable = one !== undefined && nothing?.type === 'null' && more.length === 0;
  if (!isNullable || typeof one.type !== 'string') return schema;
  const words = Array.isArray(one.enum) ? { enum: [...(one.enum as unknown[]), null] } : {};
  return { ...one, ...words, ...others, type: [one.type, 'null'] };
}
