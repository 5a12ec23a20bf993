// Preloaded into a service process: at each SIGUSR2 its wall clock jumps, at last to the truth.
// TALLYBOOK_TEST_JUMPS says how often it has jumped before it starts.

const hour = 3_600_000;
const year = 365 * 24 * hour;
const offsets = [0, hour, -hour, 10 * year, -10 * year];
const RealDate = Date;
let jumps = Number(process.env.TALLYBOOK_TEST_JUMPS ?? 0);

const now = () => RealDate.now() + offsets[jumps % offsets.length];

process.on('SIGUSR2', () => {
  jumps += 1;
});

globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(now());
    else super(...values);
  }

  static now() {
    return now();
  }
};
