// Looks what an import would do, and remembers what was looked at.

import { useEffect, useRef, useState } from 'react';
import { countMoment } from '../../../../src/exchange/send-counts.ts';
import { tb } from '../../service/client.ts';
import { type Counting, checkRows, planOf, type RowResult, type Wanted } from './check-rows.ts';
import { useAttempt } from './use-attempt.ts';

export type Where = Omit<Counting, 'counted_at'>;

interface Checked {
  readonly wanted: Wanted;
  readonly results: readonly RowResult[];
}

export function useCheck() {
  const [checked, setChecked] = useState<Checked>();
  const { problem, isBusy, attempt, forgetProblem } = useAttempt();
  const [done, setDone] = useState(0);
  const ended = useRef(new AbortController());
  useEffect(() => () => ended.current.abort(), []);
  const check = async (file: Omit<Wanted, 'counting'>, where: Where | null) => {
    ended.current = new AbortController();
    const { signal } = ended.current;
    forgetProblem();
    await attempt(signal, async () => {
      // What moves while somebody reads the results stays, because it is of after this moment.
      const counting = where && {
        ...where,
        counted_at: await countMoment(tb, where.location_id, signal),
      };
      const wanted = { ...file, counting };
      const plan = planOf(wanted);
      const found = await checkRows(tb, wanted, plan, setDone, signal);
      const results = [...plan.refused, ...found].sort((a, b) => a.index - b.index);
      setChecked({ wanted, results });
    });
  };
  return {
    ...{ checked, problem, isBusy, done },
    check: (file: Omit<Wanted, 'counting'>, where: Where | null) => void check(file, where),
    forget: () => setChecked(undefined),
  };
}
