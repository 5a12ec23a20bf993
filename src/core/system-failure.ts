// What the operating system refuses, in words. The runtime says `ENOENT: no such file or directory,
// open 'x'`; an operator wants to know what is wrong with which file or address.

const words: Readonly<Record<string, string>> = {
  EACCES: 'this user has no right to it',
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAI_AGAIN: 'its name cannot be looked up now',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection broke',
  EDQUOT: 'the quota of this user is used up',
  EHOSTUNREACH: 'its machine cannot be reached',
  EISDIR: 'it is a directory',
  EMFILE: 'too many files are open',
  ENETUNREACH: 'its network cannot be reached',
  ENOENT: 'there is no such file or directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  ENOTFOUND: 'there is no machine of this name',
  EPIPE: 'nobody reads it any more',
  EPERM: 'this user may not do that',
  EROFS: 'its file system is read-only',
  ETIMEDOUT: 'it does not answer',
};

/** Why it failed, with the code that one can search for. Other errors say it themselves. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return code in words ? `${words[code]} (${code})` : error.message;
}

/** The same with what it was about: a file, or an address. */
export function systemMessage(error: Error): string {
  const { path, address, port, hostname } = error as Error & Readonly<Record<string, unknown>>;
  const place = path ?? hostname ?? (port === undefined ? address : `${address}:${port}`);
  const reason = systemReason(error);
  return place === undefined || reason === error.message ? reason : `${place}: ${reason}`;
}
