// Every answer of every test is held against the published document: the operation knows its status
// and code, the body has the members promised and no others, and the headers are there.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { endpoints } from '../../src/app.ts';
import { formats } from '../../src/contract/format.ts';
import type {
  HeaderObject,
  Method,
  OperationObject,
  Ref,
  ResponseObject,
  Schema,
} from '../../src/http/document/model.ts';
import { openApiDocument } from '../../src/http/document/openapi.ts';
import type { Answer } from './api.ts';

export const document = openApiDocument(endpoints, '0.0.0');

const ajv = new Ajv2020({ allErrors: true, strict: false, unicodeRegExp: true });
ajv.addFormat('idn-email', (value: string) => formats.email(value) === undefined);
ajv.addFormat('date', (value: string) => formats.date(value) === undefined);
ajv.addFormat('date-time', (value: string) => formats['date-time'](value) === undefined);
ajv.addFormat('time-zone', (value: string) => formats['time-zone'](value) === undefined);
for (const annotation of ['uri-reference', 'int32', 'int64']) ajv.addFormat(annotation, true);

/** A schema of the document, ready to judge values by. References lead into the components. */
function compile(schema: Schema): ValidateFunction {
  return ajv.compile({ ...schema, components: { schemas: document.components.schemas } });
}

/**
 * The same schema without room for members it does not name. Clients must tolerate new ones; the
 * service itself must not send what it does not document.
 */
export function compileExact(schema: Schema): ValidateFunction {
  return ajv.compile(named(exact(schema)));
}

// Each has a name of its own, so that it is compiled once, not again for each that refers to it:
// three files of tests took 61 s of processor time, and take 55.
const shared = '#/components/schemas/';
for (const [name, schema] of Object.entries(document.components.schemas)) {
  ajv.addSchema(named(exact(schema)), `exact:${name}`);
}

function named(schema: unknown): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll(`"${shared}`, '"exact:'));
}

function exact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([keyword, inner]): [string, unknown] =>
    // What an allOf adds to the shared error names a part of its members only.
    keyword === 'allOf' ? [keyword, inner] : [keyword, exact(inner)],
  );
  const schema = Object.fromEntries(entries);
  const isOpen = 'properties' in schema && !('additionalProperties' in schema);
  return isOpen && schema.type !== undefined ? { ...schema, additionalProperties: false } : schema;
}

/** @throws Error saying how an answer departs from the document. */
export function conforms(method: string, path: string, answer: Answer): void {
  const faults = faultsOf(method, path, answer);
  if (faults.length === 0) return;
  const body = JSON.stringify(answer.body);
  throw new Error(
    `${method} ${path} answered ${answer.status} against the document:\n` +
      `${faults.map((fault) => `- ${fault}`).join('\n')}\n${body}`,
  );
}

function faultsOf(method: string, path: string, answer: Answer): string[] {
  const faults = commonFaults(answer);
  const template = templateOf(path);
  const verb = (method === 'HEAD' ? 'get' : method.toLowerCase()) as Method;
  const item = template === undefined ? undefined : document.paths[template];
  const operation = item?.[verb];
  if (operation !== undefined) return [...faults, ...operationFaults(operation, method, answer)];
  const [any] = Object.values(item ?? {});
  const expected = any === undefined ? 404 : 405;
  if (answer.status !== expected && answer.status !== 400) {
    return [...faults, `expected ${expected}, as no operation is there`];
  }
  return any === undefined ? faults : [...faults, ...operationFaults(any, method, answer)];
}

function commonFaults({ headers, body }: Answer): string[] {
  const requestId = headers.get('x-request-id') ?? '';
  const faults: string[] = [];
  if (!/^req_[0-9a-z]{26}$/.test(requestId)) faults.push(`X-Request-Id is "${requestId}"`);
  if (body !== undefined && body?.meta?.request_id !== requestId) {
    faults.push('meta.request_id is not X-Request-Id');
  }
  if (headers.get('cache-control') !== 'no-store') faults.push('Cache-Control is not no-store');
  return faults;
}

function operationFaults(operation: OperationObject, method: string, answer: Answer): string[] {
  const { operationId } = operation;
  const listed = operation.responses[answer.status];
  if (listed === undefined) return [`${operationId} does not document ${answer.status}`];
  const response = resolve(listed) as ResponseObject;
  const faults = Object.entries(response.headers).flatMap(([name, header]) =>
    headerFaults(name, resolve(header) as HeaderObject, answer),
  );
  const type = response.content === undefined ? null : 'application/json; charset=utf-8';
  if (answer.headers.get('content-type') !== type) {
    faults.push(`Content-Type is ${answer.headers.get('content-type')}`);
  }
  if (method === 'HEAD') return answer.body === undefined ? faults : [...faults, 'HEAD has a body'];
  const validate = bodyValidator(response);
  if (validate === undefined) {
    if (answer.body !== undefined) faults.push(`${operationId} ${answer.status} has a body`);
  } else if (!validate(answer.body)) {
    faults.push(
      ...(validate.errors ?? []).map(
        ({ instancePath, message, params }) =>
          `${operationId} ${answer.status} ${instancePath} ${message} ${JSON.stringify(params)}`,
      ),
    );
  }
  return faults;
}

function headerFaults(name: string, header: HeaderObject, { headers }: Answer): string[] {
  const value = headers.get(name);
  if (value === null) return header.required === true ? [`the header ${name} is missing`] : [];
  const validate = cached(header, () => compile(header.schema));
  return validate(value) ? [] : [`the header ${name} is "${value}"`];
}

/** None: the answer has no body. */
function bodyValidator(response: ResponseObject): ValidateFunction | undefined {
  const { content } = response;
  return content && cached(response, () => compileExact(content['application/json'].schema));
}

const validators = new WeakMap<object, ValidateFunction>();

function cached(key: object, make: () => ValidateFunction): ValidateFunction {
  const known = validators.get(key);
  if (known !== undefined) return known;
  const made = make();
  validators.set(key, made);
  return made;
}

/** What a reference within the document leads to, or the value itself. */
export function resolve(value: object): object {
  if (!('$ref' in value)) return value;
  const steps = (value as Ref).$ref.slice(2).split('/');
  const found = steps.reduce<unknown>((at, step) => (at as Schema)[step], document);
  if (typeof found !== 'object' || found === null) throw new Error(`nothing is at ${steps}`);
  return found;
}

const templates = Object.keys(document.paths)
  .sort((a, b) => a.split('{').length - b.split('{').length)
  .map((template) => ({ template, pattern: patternOf(template) }));

/** The path template that a request path belongs to; one without parameters comes first. */
function templateOf(path: string): string | undefined {
  const [plain = ''] = path.split('?');
  return templates.find(({ pattern }) => pattern.test(plain))?.template;
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]*')}$`);
}
