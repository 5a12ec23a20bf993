// What a run is made of beside two nodes and a database: workers, cells, a pooler, a standby, a
// cluster.

import { clusterUrl } from '../kit/citus.ts';
import { missingForReplication } from '../kit/replication.ts';
import { isInstalled } from '../kit/samples.ts';

export interface Settings {
  /** How many processes of each node serve. */
  readonly workers: number;
  /** Among how many merchants are dealt out. */
  readonly cells: number;
  /** Nodes reach PostgreSQL through PgBouncer. */
  readonly pooler: boolean;
  /** The server has a synchronous standby, which takes over when it is killed. */
  readonly failover: boolean;
  /** Cells are on the servers of a Citus cluster, which are killed, and move between them. */
  readonly citus: boolean;
}

export const plain: Settings = {
  ...{ workers: 1, cells: 1 },
  ...{ pooler: false, failover: false, citus: false },
};

/** As the command line has them; nothing for the plain ones. */
export function flagsOf({ workers, cells, pooler, failover, citus }: Settings): string {
  const flags = [
    ...(workers === 1 ? [] : [`--workers ${workers}`]),
    ...(cells === 1 ? [] : [`--cells ${cells}`]),
    ...(pooler ? ['--pooler'] : []),
    ...(failover ? ['--failover'] : []),
    ...(citus ? ['--citus'] : []),
  ];
  return flags.map((flag) => ` ${flag}`).join('');
}

/** Why these cannot be run, or not here; undefined when they can. */
export function refusalOf({ pooler, failover, citus }: Settings): string | undefined {
  if (pooler && failover) {
    return (
      '--pooler and --failover do not combine: behind a pooler a node does not confirm each ' +
      'server that the pooler finds (docs/operate/standby.md), so a loss would prove nothing'
    );
  }
  if (citus && (pooler || failover)) {
    return (
      '--citus combines with neither --pooler nor --failover: no pooler may stand before a ' +
      'cluster, and its servers have no standby here (docs/operate/citus.md)'
    );
  }
  if (citus && clusterUrl === undefined) {
    return '--citus needs a cluster on this machine: TALLYBOOK_TEST_CITUS_URL names none';
  }
  if (pooler && !isInstalled('pgbouncer')) {
    return '--pooler needs pgbouncer, which is not installed';
  }
  const missing = failover ? missingForReplication() : undefined;
  return missing === undefined ? undefined : `--failover cannot be run: ${missing}`;
}
