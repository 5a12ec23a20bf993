// How far a long command came, on standard error: a bar with rate and remaining time on a
// terminal, and elsewhere a line every ten seconds.

const lineEveryMs = 10_000;

export interface ProgressLine {
  begin(total: number, done: number): void;
  update(done: number): void;
  /** What is written next begins on a line of its own. */
  end(): void;
}

export async function progressOf(noun: string): Promise<ProgressLine> {
  const { default: bars } = await import('cli-progress');
  const isTerminal = process.stderr.isTTY === true;
  const bar = new bars.SingleBar(
    {
      format: [
        `${isTerminal ? '{bar} ' : ''}{percentage}%`,
        ...[`{value} of {total} ${noun}`, '{rate}/s', '{eta_formatted} left'],
      ].join(' | '),
      stream: process.stderr,
      noTTYOutput: true,
      notTTYSchedule: lineEveryMs,
      barsize: 24,
      etaBuffer: 50,
      // The command itself listens to Ctrl-C.
      gracefulExit: false,
    },
    bars.Presets.shades_classic,
  );
  let started = 0;
  let first = 0;
  let isRunning = false;
  return {
    begin(total, done) {
      started = performance.now();
      first = done;
      isRunning = true;
      bar.start(total, done, { rate: 0 });
    },
    update(done) {
      const seconds = Math.max(0.001, (performance.now() - started) / 1_000);
      if (isRunning) bar.update(done, { rate: Math.round((done - first) / seconds) });
    },
    end() {
      if (isRunning) bar.stop();
      isRunning = false;
    },
  };
}
