import { defineConfig } from 'vitest/config';
import { clientByName } from './vitest.config.ts';

// On a Citus cluster: `TALLYBOOK_TEST_CITUS_URL=postgres://… npx vitest run -c
// vitest.citus.config.ts`. The URL is a superuser's, of the database at the coordinator that knows
// the workers (deploy/citus/cluster.sh makes one). Neither npm nor Debian has Citus, so no other
// run includes these.

if (process.env.TALLYBOOK_TEST_CITUS_URL === undefined) {
  throw new Error('TALLYBOOK_TEST_CITUS_URL names no cluster: see docs/operate/citus.md');
}

export default defineConfig({
  resolve: { alias: clientByName },
  test: {
    globalSetup: ['test/kit/postgres.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // A database is made on three servers and migrated for each file.
    maxWorkers: 1,
    include: [
      'test/*.citus.ts',
      'src/access/audit/denials.test.ts',
      'src/access/last-use.test.ts',
      'src/access/operator/prune.test.ts',
      'src/access/transact.test.ts',
      'src/batches/batches.test.ts',
      'src/counts/counts.test.ts',
      'src/counts/verify.test.ts',
      'src/database/backup/cells.prove.ts',
      'src/events/feed.test.ts',
      'src/events/wait.test.ts',
      'src/inventory/as-of.test.ts',
      'src/inventory/followed.test.ts',
      'src/inventory/ledger.test.ts',
      'src/inventory/low-stock-races.test.ts',
      'src/inventory/reads.test.ts',
      'src/inventory/rules.test.ts',
      'src/inventory/verify.test.ts',
      'src/oauth/client-credentials.test.ts',
      'src/oauth/consent/consent.test.ts',
      'src/oauth/consent/pages.test.ts',
      'src/oauth/consent/person.test.ts',
      'src/oauth/disabled-merchant.test.ts',
      'src/oauth/locked.test.ts',
      'src/oauth/outage.test.ts',
      'src/oauth/races.test.ts',
      'src/operations/batch.test.ts',
      'src/operations/fingerprint.test.ts',
      'src/operations/idempotency.test.ts',
      'src/operations/merchants.test.ts',
      'src/people/people.test.ts',
      'src/reservations/reservations.test.ts',
      'src/reservations/verify.test.ts',
      'src/sessions/sessions.test.ts',
      'src/tokens/tokens.test.ts',
      'src/transfers/transfers.test.ts',
      'src/webhooks/delivery.test.ts',
      'src/webhooks/webhooks.test.ts',
      'test/authorisation.test.ts',
      'test/mirror.test.ts',
      'test/model/model.test.ts',
    ],
  },
});
