// The OpenAPI 3.1 document as types: the part of it that is made here. Everything is plain data, so
// the document is JSON and two runs give the same bytes.

/** A JSON Schema, as it is published. */
export type Schema = { readonly [keyword: string]: unknown };

export type Ref = { readonly $ref: string };

export interface HeaderObject {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required: boolean;
  readonly style?: 'form';
  readonly explode?: boolean;
  readonly schema: Schema;
}

export interface ExampleObject {
  readonly summary: string;
  readonly value: unknown;
}

export interface MediaObject {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Ref>>;
}

export type Content = Readonly<Record<'application/json', MediaObject>>;

export interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, HeaderObject | Ref>>;
  /** Absent: the answer has no body. */
  readonly content?: Content;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (ParameterObject | Ref)[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject | Ref>>;
}

export type Method = 'get' | 'post' | 'patch';

export type PathItem = { readonly [M in Method]?: OperationObject };

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly Readonly<Record<string, unknown>>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly security: OperationObject['security'];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly examples: Readonly<Record<string, ExampleObject>>;
  };
}

export const refTo = (section: keyof OpenApiDocument['components'], name: string): Ref => ({
  $ref: `#/components/${section}/${name}`,
});
