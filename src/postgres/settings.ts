// The private server's settings. Those that protect data and privacy are given on the command line
// at every start, so that neither an edited file nor ALTER SYSTEM can change them. Those that only
// tune are written to postgresql.conf once, and the operator may change them.

export const TUNABLE: Readonly<Record<string, string>> = {
  max_connections: '100',
  shared_buffers: '128MB',
  // Full page images are most of the log after a checkpoint, and they compress well.
  wal_compression: 'on',
  // A new database has no statistics: plans made then scan all rows of a merchant instead of using
  // keys, until the first ANALYZE. With the default of a minute that was 900 adjustments a second.
  autovacuum_naptime: '5s',
};

const FIXED: Readonly<Record<string, string>> = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  restart_after_crash: 'on',
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  client_connection_check_interval: '2s',
  log_lock_waits: 'on',
  // Values are customers' data. Terse, because DETAIL and CONTEXT lines repeat values as well.
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'server-%Y%m%d-%H%M%S.log',
  log_file_mode: '0600',
  log_rotation_age: '0',
  log_rotation_size: '10MB',
};

export function commandLineSettings(
  socketDirectory: string,
  extra: Readonly<Record<string, string>>,
): string[] {
  const all = {
    ...extra,
    ...FIXED,
    // A list whose items may be quoted; the path may hold a comma or a space.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
