// What calls give back: the data with what the service says about the answer, and pages that follow
// each other by themselves.

export interface Result<Data, Meta> {
  readonly data: Data;
  readonly status: number;
  /** Names this request in the log of the service. */
  readonly requestId: string;
  /** Names the write; the same however often it is sent. */
  readonly operationId: Meta extends { operation_id: infer Id } ? Id : undefined;
  /** The place of the write in the journal; undefined when it changed nothing. */
  readonly position: string | undefined;
  /** Whether the write had been done before. */
  readonly replayed: boolean;
  /** All that the service says about the answer, as it came. */
  readonly meta: Meta;
}

export interface Page<Item, Meta> extends Result<Item[], Meta> {
  /** The `cursor` of the next page; undefined when this is the last one. */
  readonly nextCursor: string | undefined;
}

/** `await` gives one page; `for await` goes through all items. Nothing is sent before. */
export class Pages<Item, Meta> implements PromiseLike<Page<Item, Meta>>, AsyncIterable<Item> {
  readonly #read: (cursor?: string) => Promise<Page<Item, Meta>>;
  #first: Promise<Page<Item, Meta>> | undefined;

  constructor(read: (cursor?: string) => Promise<Page<Item, Meta>>) {
    this.#read = read;
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` of a list is its first page.
  then<Done = Page<Item, Meta>, Failed = never>(
    done?: ((page: Page<Item, Meta>) => Done | PromiseLike<Done>) | null,
    failed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    this.#first ??= this.#read();
    return this.#first.then(done, failed);
  }

  /** Page by page. */
  async *pages(): AsyncGenerator<Page<Item, Meta>, void, undefined> {
    let page: Page<Item, Meta> = await this.then();
    yield page;
    while (page.nextCursor !== undefined) {
      page = await this.#read(page.nextCursor);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}
