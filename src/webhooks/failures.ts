// Why a call was no success, in the words of the interface.

export const callFailures = [
  /** Not an address that may be called; nothing was sent. */
  'address_not_allowed',
  'name_not_found',
  'connection_refused',
  /** Before the whole answer was there. */
  'connection_closed',
  /** Any other reason for which there is no connection, such as no route. */
  'connection_failed',
  /** A certificate that is not trusted, is of another host or has expired; or no TLS at all. */
  'tls_failed',
  /** Not everything was done within the time of a call. */
  'timeout',
  /** What came is not HTTP. */
  'malformed_answer',
  /** Redirects are not followed. */
  'redirect',
  /** Any other status than 2xx. */
  'status',
  /** This service stopped meanwhile. */
  'stopped',
  /** Nothing was sent: too many tests of the merchant were under way. */
  'too_many_tests',
  /** Nothing can be signed: the secret of the service has changed. */
  'secret_unreadable',
] as const;

export type CallFailure = (typeof callFailures)[number];
