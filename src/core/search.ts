// How `q` finds names, addresses and SKUs: by words and their beginnings. Texts and queries are cut
// here, in one way, not by the database: its parser takes `shop.com`, `red/L` and `AB-100` for one
// host, one path and a negative number, and folds case by a locale that is the operator's choice.

/** Far below the 2,046 bytes that the database takes, also after compatibility decomposition. */
const wordLengthMax = 128;

const accent = /[\u0300-\u036f]/g;
const word = /[\p{L}\p{N}\p{M}]+/gu;

/** The words of texts as a tsvector literal. Letters, marks and digits need no quoting. */
export function searchText(...texts: readonly (string | null)[]): string {
  return words(texts.join(' ')).join(' ');
}

/**
 * A tsquery literal that asks for all words of `q`, each as a beginning. Without a single word it
 * is empty, which matches nothing.
 */
export function searchQuery(q: string): string {
  return words(q)
    .map((each) => `${each}:*`)
    .join(' & ');
}

/** Each word once: lower case, without accents, one form per character. */
function words(text: string): string[] {
  const plain = text.normalize('NFKD').replace(accent, '').toLowerCase();
  const found = plain.match(word) ?? [];
  return [...new Set(found.map((each) => [...each].slice(0, wordLengthMax).join('')))];
}
