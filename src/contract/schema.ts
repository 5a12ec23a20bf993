// The schemas that several resources share. A schema here is plain JSON Schema and is published as
// it stands; a named one (`$id`) becomes a component of the OpenAPI document.

import Type, { type Static, type TNull, type TSchema, type TUnion } from 'typebox';
import type { Quantity } from '../core/decimal.ts';
import type { IdPrefix } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import { credentialKinds } from '../core/principal.ts';
import type { Format } from './format.ts';

/** A value that may be absent (on a create) or null. In answers the member is present and null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** An optional member with a default: absent and null mean the default, on a create and a PATCH. */
export type Defaulted<T extends TSchema> = TUnion<[T, TNull]> & { readonly default: Static<T> };

export const defaulted = <T extends TSchema>(schema: T, value: Static<T>) =>
  Type.Union([schema, Type.Null()], { default: value }) as unknown as Defaulted<T>;

/** A closed set of words: published as an enum, refused with the list of what is allowed. */
export const oneOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description });

/** A string of a named format; lengths count code points. */
export const text = (format: Format, length: { min?: number; max: number }, description: string) =>
  Type.String({
    format,
    ...(length.min === undefined ? {} : { minLength: length.min }),
    maxLength: length.max,
    description,
  });

/** An ID in an answer: opaque, except for its prefix, which names the kind. */
export const id = (prefix: IdPrefix, description: string) =>
  Type.String({
    pattern: `^${prefix}`,
    maxLength: limits.idLengthMax,
    description,
    examples: [`${prefix}01k9x3v7c2e4r8t1m5n6p0q9sa`],
  });

/** An ID in a body: any string is looked up, so only its length can be wrong. */
export const idIn = (prefix: IdPrefix, description: string) =>
  Type.String({
    minLength: 1,
    maxLength: limits.idLengthMax,
    description,
    examples: [`${prefix}01k9x3v7c2e4r8t1m5n6p0q9sa`],
  });

export const Timestamp = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T12:00:00.000Z'] });

/** A day, without a time. */
export const Day = (description: string) =>
  Type.String({ format: 'date', description, examples: ['2026-01-31'] });

/** A time that has passed, or the present. */
export const Moment = (description: string) =>
  Type.String({ format: 'moment', description, examples: ['2026-01-31T12:00:00.000Z', 'now'] });

/** A place in a journal: a text, because it may outgrow what a JSON number holds exactly. */
export const Position = (description: string) =>
  Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$', description, examples: ['42'] });

/** Who asked for a write. */
export const ActorOut = (description: string) =>
  Type.Object(
    {
      credential_id: id('cred_', 'The credential.'),
      name: Type.String({ description: 'What it is called now.', examples: ['Till 1'] }),
      kind: oneOf(
        credentialKinds,
        'A personal access token, or an approval of an OAuth application.',
      ),
      application_id: nullable(id('app_', 'The OAuth application.')),
    },
    { description },
  );

export const Version = Type.Integer({
  minimum: 1,
  description: 'Grows by one with every change; also the ETag.',
});

/** A quantity in an answer: canonical, so equal quantities are equal strings. */
export const QuantityOut = (description: string) =>
  Type.String({ pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$', description, examples: ['12.5'] });

/** A quantity in a body: exact, never rounded. */
export const QuantityIn = (description: string) =>
  Type.Unsafe<Quantity>({
    type: 'string',
    format: 'quantity',
    maxLength: limits.quantityLengthMax,
    description: `${description} At most 12 digits before the point and 5 after it.`,
    examples: ['12.5'],
  });

const metadataKey = Type.String({ minLength: 1, maxLength: 40, format: 'text' });
const metadataValue = Type.String({ maxLength: 500, format: 'text' });

/** Up to 50 string pairs of the caller's own. */
export const Metadata = Type.Record(Type.String(), metadataValue, {
  propertyNames: metadataKey,
  maxProperties: limits.metadataPairsMax,
  description: "Up to 50 pairs of the caller's own; keys to 40 characters, values to 500.",
});

/** Metadata in a PATCH: pairs are set, null deletes one, the others stay. */
export const MetadataPatch = Type.Record(Type.String(), nullable(metadataValue), {
  propertyNames: metadataKey,
  maxProperties: 2 * limits.metadataPairsMax,
  description: 'Pairs to set; null deletes one; pairs not named stay.',
});

export const ExternalId = text('text', { max: 255 }, "The ID in the caller's own system; unique.");

/** A filter for whatever has one of these. */
export const anyOf = <S extends TSchema>(schema: S, what: string) =>
  Type.Array(schema, {
    maxItems: limits.filterValuesMax,
    description: `Only with one of these ${what}. Repeat the parameter for each.`,
  });

/** The filter `q`. contract/format.ts says what counts as a word. */
export const SearchWords = (what: string) =>
  text('text', { min: 1, max: 200 }, `Only where ${what} has all these words or beginnings.`);
