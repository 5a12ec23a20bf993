// The one client of the page: the public interface, with the session's cookie instead of a token.

import { AuthenticationError, Tallybook, TallybookError } from '@tallybook/client';
import { QueryCache, QueryClient } from '@tanstack/react-query';

export const tb = new Tallybook({
  baseUrl: `${location.origin}/console/api/v1`,
  token: null,
  // A person waits shorter than a till, and may ask again.
  budgetMs: 20_000,
});

/** Whoever was revoked, or signed out elsewhere, is told so at the next request. */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => noteEnd(error) }),
  defaultOptions: {
    queries: {
      // The client has tried for 20 s already.
      retry: false,
      staleTime: 5_000,
      networkMode: 'always',
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

export const sessionKey = ['session'] as const;

/** Asks again who is signed in, when the service said that nobody is. */
export function noteEnd(error: unknown): void {
  if (error instanceof AuthenticationError)
    void queries.invalidateQueries({ queryKey: sessionKey });
}

/** Whether an answer may still come for the same key: what became of it is not known. */
export const isUnsettled = (error: unknown): boolean =>
  error instanceof TallybookError && error.retryable;
