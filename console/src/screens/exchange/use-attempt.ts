// What a page of imports does for long: whether it is at it, and what it failed with.

import { useState } from 'react';
import { noteEnd } from '../../service/client.ts';

export function useAttempt() {
  const [problem, setProblem] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  /** Whoever has left is told nothing. */
  const attempt = async (signal: AbortSignal, work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
      setProblem(undefined);
    } catch (error) {
      if (signal.aborted) return;
      noteEnd(error);
      setProblem(error as Error);
    } finally {
      setBusy(false);
    }
  };
  return { problem, isBusy, attempt, forgetProblem: () => setProblem(undefined) };
}
