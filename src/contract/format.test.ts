import { describe, expect, test } from 'vitest';
import { searchQuery, searchText } from './format.ts';

describe('searched words', () => {
  test('are runs of letters and digits in lower case, each once', () => {
    expect(searchText('Ada Lovelace', 'Ada.L@Example.com')).toBe('ada lovelace l example com');
    expect(searchText("O'Brien (red/L) AB-100", null)).toBe('o brien red l ab 100');
  });

  test('have one form whatever accents and compatibility characters they are written with', () => {
    for (const name of ['Zoë Ångström', 'Zoe\u0308 A\u030angstro\u0308m', 'ＺＯＥ ANGSTROM']) {
      expect(searchText(name)).toBe('zoe angstrom');
    }
  });

  test('keep the letters of every script', () => {
    expect(searchText('Müller 東京 Ωmega हिन्दी')).toBe('muller 東京 ωmega हिन्दी');
  });

  test('are short enough for the database and never cut within a character', () => {
    const long = '\u{20000}'.repeat(255) + '\ufdfa'.repeat(255);
    for (const word of searchText(long).split(' ')) {
      expect(Buffer.byteLength(word)).toBeLessThan(2046);
      expect(Buffer.from(word).toString()).toBe(word);
    }
  });

  test('are asked for as beginnings, all of them', () => {
    expect(searchQuery('ada  LOVE')).toBe('ada:* & love:*');
    expect(searchQuery('ada@exa')).toBe('ada:* & exa:*');
  });

  test('are none in a query of signs alone', () => {
    for (const q of [`'":*!&|()<->\\`, '  ', '👍🏽', '@.-_', '\u0301']) {
      expect(searchQuery(q), q).toBe('');
    }
  });
});
