// Sends a draft as a write, under the draft's key, until it is settled: once by intent, however
// often somebody clicks, in however many tabs.

import { AuthenticationError, TallybookError } from '@tallybook/client';
import { useEffect, useRef, useState } from 'react';
import { isUnsettled, noteEnd } from './client.ts';
import type { Draft } from './drafts.ts';

export interface Post {
  /** Waits for the answer. */
  readonly isBusy: boolean;
  /** Why it was refused, or why no answer came. */
  readonly problem: TallybookError | undefined;
  /** No answer came: it may have happened. It is sent again under its key. */
  readonly isUnsettled: boolean;
  send(): void;
}

interface PostOptions<Value, Done> {
  readonly draft: Draft<Value>;
  write(value: Value, options: { readonly idempotencyKey: string }): Promise<Done>;
  /** It happened, once. The draft is gone. */
  onDone(done: Done): void;
}

export function usePost<Value, Done>({ draft, write, onDone }: PostOptions<Value, Done>): Post {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<TallybookError>();
  const busy = useRef(false);

  const send = async () => {
    // A second click comes before the first one is drawn.
    if (busy.current) return;
    busy.current = true;
    setBusy(true);
    const { value, key } = draft.markSent();
    try {
      const done = await write(value, { idempotencyKey: key });
      setProblem(undefined);
      draft.clear();
      onDone(done);
    } catch (error) {
      if (!(error instanceof TallybookError)) throw error;
      noteEnd(error);
      setProblem(error);
      // Who is signed in again sends the same write.
      if (!isUnsettled(error) && !(error instanceof AuthenticationError)) draft.markRefused();
    } finally {
      busy.current = false;
      setBusy(false);
    }
  };
  const again = useRef(send);
  again.current = send;

  // A page that was closed while it waited, or has no network, goes on when it can.
  useEffect(() => {
    if (!draft.isSent) return;
    const goOn = () => void again.current();
    goOn();
    addEventListener('online', goOn);
    return () => removeEventListener('online', goOn);
  }, [draft.isSent]);

  return {
    isBusy,
    problem,
    isUnsettled: draft.isSent && !isBusy,
    send: () => void send(),
  };
}
