// Names of people as they are compared: spaces, and letters that look alike, make no other name.

export function nameKey(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}
