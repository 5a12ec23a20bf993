// The tree of this repository as the tidy test reads it: files, and code as a syntax tree.
// TypeScript 7 has no parser that a program may call.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';

/** A node of the syntax tree (ESTree with TypeScript's nodes). */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

/** One file, named from the root of the repository with `/` between its folders. */
export class SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  #nodes: readonly Visited[] | undefined;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
    this.lines = text.replace(/\n$/, '').split('\n');
  }

  get isCode(): boolean {
    return /\.([cm]?[jt]s|tsx)$/.test(this.path);
  }

  get isTest(): boolean {
    return /\.(test|prove|citus)\.ts$/.test(this.path);
  }

  /** Code of the service itself, without the tests beside it. */
  get isService(): boolean {
    return this.isCode && this.path.startsWith('src/') && !this.isTest;
  }

  /** Every node in the order of the text, each with the nodes around it, the nearest first. */
  get nodes(): readonly Visited[] {
    this.#nodes ??= this.isCode ? visit(this.path, this.text) : [];
    return this.#nodes;
  }

  lineAt(offset: number): number {
    return this.text.slice(0, offset).split('\n').length;
  }
}

export interface Visited {
  readonly node: Node;
  readonly around: readonly Node[];
}

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const textExtensions = /^\.([cm]?[jt]s|tsx|json|md|sql|ya?ml|html|css|sh|py|txt)$/;

/** The files of the repository, without what `.gitignore` names. Only texts are read. */
export function readTree(): SourceFile[] {
  const ignored = readFileSync(join(repository, '.gitignore'), 'utf8').split('\n').filter(Boolean);
  const isIgnored = (path: string) =>
    ignored.some((pattern) =>
      pattern.startsWith('*')
        ? path.endsWith(pattern.slice(1))
        : `/${path}/`.includes(`/${pattern.replace(/^\/|\/$/g, '')}/`),
    );
  const read = (folder: string): SourceFile[] =>
    readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      if (path === '.git' || isIgnored(path)) return [];
      if (entry.isDirectory()) return read(path);
      const isText = textExtensions.test(extname(path)) || !entry.name.includes('.', 1);
      return [new SourceFile(path, isText ? readFileSync(join(repository, path), 'utf8') : '')];
    });
  return read('');
}

function visit(path: string, text: string): Visited[] {
  const visited: Visited[] = [];
  const enter = (node: Node, around: readonly Node[]): void => {
    visited.push({ node, around });
    const inside = [node, ...around];
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child)) enter(child, inside);
      }
    }
  };
  enter(
    parseSync(path, text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }).program as unknown as Node,
    [],
  );
  return visited.sort((a, b) => a.node.start - b.node.start);
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** The nodes of these types. */
export function nodesOf(file: SourceFile, ...types: readonly string[]): readonly Visited[] {
  return file.nodes.filter(({ node }) => types.includes(node.type));
}

/** The name of an identifier; nothing for any other node. */
export function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' ? String(node.name) : undefined;
}

/** `a.b.c` as `['a', 'b', 'c']`; a call or an index in it ends the chain from the left. */
export function chainOf(node: unknown): readonly (string | undefined)[] {
  if (!isNode(node)) return [];
  if (node.type === 'CallExpression') return chainOf(node.callee);
  if (node.type !== 'MemberExpression') return [nameOf(node)];
  return [...chainOf(node.object), nameOf(node.property)];
}

export interface Import {
  readonly line: number;
  /** As it is written. */
  readonly specifier: string;
  /** From the root of the repository, of an import of ours. */
  readonly target: string | undefined;
  /** What is imported by name; empty for a whole module. */
  readonly names: readonly string[];
}

const imports = new WeakMap<SourceFile, readonly Import[]>();

/** Every import of a file, types and dynamic ones included. */
export function importsOf(file: SourceFile): readonly Import[] {
  const known = imports.get(file) ?? readImports(file);
  imports.set(file, known);
  return known;
}

function readImports(file: SourceFile): Import[] {
  const types = [
    'ImportDeclaration',
    'ImportExpression',
    'TSImportType',
    'ExportAllDeclaration',
    'ExportNamedDeclaration',
  ];
  return nodesOf(file, ...types).flatMap(({ node, around }) => {
    const source = isNode(node.source) ? node.source : node.argument;
    const specifier = isNode(source) ? source.value : undefined;
    if (typeof specifier !== 'string') return [];
    const target = specifier.startsWith('.')
      ? posix.join(posix.dirname(file.path), specifier)
      : undefined;
    return [{ line: file.lineAt(node.start), specifier, target, names: namesOf(node, around) }];
  });
}

/** `import { a }`, and `const { a } = await import()`. */
function namesOf(node: Node, [first, second]: readonly Node[]): string[] {
  if (Array.isArray(node.specifiers)) {
    return node.specifiers.flatMap((one: Node) => nameOf(one.imported) ?? []);
  }
  const pattern = first?.type === 'AwaitExpression' ? second?.id : undefined;
  const properties = isNode(pattern) && Array.isArray(pattern.properties) ? pattern.properties : [];
  return properties.flatMap((one: Node) => nameOf(one.key) ?? []);
}
