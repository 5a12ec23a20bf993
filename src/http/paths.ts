// The paths that are there, for requests by a method that they do not have. With a route for each
// of 34 methods of each path the routes took 630 ms of processor time at a start, without 270 ms.

import { Problem } from '../core/problem.ts';

/** A path with parameters as the router writes them, such as `/v1/customers/:id`. */
export interface KnownPath {
  readonly url: string;
  readonly methods: readonly string[];
  readonly isOAuth: boolean;
}

export class KnownPaths {
  readonly #paths = new Map<string, KnownPath & { readonly pattern: RegExp }>();

  /** Adds methods to a path. */
  add(url: string, methods: readonly string[], isOAuth = false): void {
    const before = this.#paths.get(url)?.methods ?? [];
    const path = { url, methods: [...before, ...methods], isOAuth, pattern: patternOf(url) };
    this.#paths.set(url, path);
  }

  /** That of a request's target, whatever its method. */
  find(target: string): KnownPath | undefined {
    const [path = ''] = target.split('?');
    return [...this.#paths.values()].find(({ pattern }) => pattern.test(path));
  }
}

/** As the router matches: a parameter is a segment, which may be empty. */
function patternOf(url: string): RegExp {
  const literal = url.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll(/:\w+/g, '[^/]*')}$`);
}

/** 405, with the methods that the path has (RFC 9110, section 15.5.6). */
export function methodNotAllowed({ methods }: KnownPath): Problem {
  return new Problem('method_not_allowed', { headers: { Allow: methods.join(', ') } });
}
