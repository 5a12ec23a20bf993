// Just enough SVG for the plots of the document: text, lines and bars, in colours that follow the
// reader's light or dark mode.

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .quiet { fill: #59636e; font-size: 11px; }
  .axis { stroke: #d1d9e0; }
  .guide { stroke: #cf222e; stroke-dasharray: 4 3; }
  .first { fill: #0969da; } .second { fill: #9198a1; }
  .line-first { stroke: #0969da; stroke-width: 2; fill: none; }
  .line-second { stroke: #818b98; stroke-width: 2; stroke-dasharray: 5 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .quiet { fill: #9198a1; }
    .axis { stroke: #3d444d; }
    .guide { stroke: #f85149; }
    .first { fill: #4493f8; } .second { fill: #656c76; }
    .line-first { stroke: #4493f8; } .line-second { stroke: #9198a1; }
  }`;

export interface Place {
  readonly x: number;
  readonly y: number;
}

type Anchor = 'start' | 'middle' | 'end';

export class Drawing {
  readonly #width: number;
  readonly #height: number;
  readonly #parts: string[] = [];

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
  }

  text({ x, y }: Place, words: string, of: { class?: string; anchor?: Anchor } = {}): void {
    const attributes = `class="${of.class ?? ''}" text-anchor="${of.anchor ?? 'start'}"`;
    this.#parts.push(
      `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(words)}</text>`,
    );
  }

  bar({ x, y }: Place, width: number, height: number, className: string): void {
    const size = `width="${round(Math.max(width, 1))}" height="${round(height)}"`;
    this.#parts.push(`<rect x="${round(x)}" y="${round(y)}" ${size} rx="1" class="${className}"/>`);
  }

  line(places: readonly Place[], className: string): void {
    const points = places.map(({ x, y }) => `${round(x)},${round(y)}`).join(' ');
    this.#parts.push(`<polyline points="${points}" class="${className}"/>`);
  }

  dot({ x, y }: Place, className: string): void {
    this.#parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="2.5" class="${className}"/>`);
  }

  /** @param title what it shows, for those who do not see it. */
  toString(title: string): string {
    const box = `viewBox="0 0 ${this.#width} ${this.#height}"`;
    const size = `width="${this.#width}" height="${this.#height}"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${box} ${size} role="img">`,
      `<title>${escaped(title)}</title>`,
      `<style>${style}\n</style>`,
      ...this.#parts,
      '</svg>\n',
    ].join('\n');
  }
}

function round(number: number): string {
  return String(Math.round(number * 10) / 10);
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
