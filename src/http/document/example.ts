// Examples from schemas: of members as the resource declares them, else by a schema's `examples`.
// Every example is valid against its schema; a test checks that.

import type { Resource } from '../../contract/resource.ts';
import type { Schema } from './model.ts';

/** Members by name, as the resource declares them. */
type Known = Resource['example'];

/** Finds a component schema by its reference. */
export type Resolve = (ref: string) => Schema;

export function exampleOf(schema: Schema, resolve: Resolve, known: Known): unknown {
  if (typeof schema.$ref === 'string') return exampleOf(resolve(schema.$ref), resolve, known);
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) {
    return exampleOf((schema.anyOf as Schema[])[0] ?? {}, resolve, known);
  }
  const [type] = [schema.type].flat();
  switch (type) {
    case 'object':
      return objectExample(schema, resolve, known);
    case 'array':
      return [exampleOf(schema.items as Schema, resolve, known)];
    case 'integer':
      return schema.default ?? schema.minimum ?? 1;
    case 'boolean':
      return schema.default ?? true;
    default:
      return schema.default ?? 'text';
  }
}

function objectExample(schema: Schema, resolve: Resolve, known: Known): unknown {
  const members = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return Object.fromEntries(
    members.map(([name, one]) => {
      const isWord = Array.isArray(one.enum) || 'const' in one;
      const hasOwn = Object.hasOwn(known, name) && !isWord && typeof one.$ref !== 'string';
      return [name, hasOwn ? known[name] : exampleOf(one, resolve, known)];
    }),
  );
}
