// Every number the service enforces, each with its reason. Times are in milliseconds and sizes in
// bytes where the name says nothing else.

export const limits = {
  /** The interface document, section 8. */
  pageSizeDefault: 50,
  pageSizeMax: 200,
  /**
   * A page ends with the row that brings its metadata and long texts to this; 200 rows of 5 KB are
   * less. 200 of the largest had 24 MB: a dozen clients that asked for them stopped everybody for
   * half a second at a time.
   */
  pageBytesMax: 1024 * 1024,
  productFiltersMax: 100,
  /** Of SKUs and IDs of the caller's own. */
  filterValuesMax: 100,
  /** How far a page of the feed looks for events in reach: 10,000 operations take it 20 ms. */
  eventsJudgedMax: 10_000,
  /** As many as a page of movements shows by default. */
  eventMovementsMax: 50,
  /** A movement in JSON, without its note and its reference. */
  movementBytes: 700,
  /** What an event says of one level, beside its movements. */
  noticeBytes: 180,
  /** No record is larger: with up to eight a page is not full, and need not be measured. */
  recordsUnmeasuredMax: 8,
  /** In seconds; what remains of `requestDeadline` is for reading what came. */
  eventWaitMax: 8,
  /** Whoever waits for events sees those of this node after this at most, and costs no more. */
  eventLookInterval: 50,
  /** The same for commits of other nodes, and for a credential that was revoked meanwhile. */
  eventPollInterval: 500,
  /** How long a cell that was added waits for what runs beside the requests. */
  cellLookInterval: 10_000,
  /** How long a cell that has moved is asked for at the server from before, which passes it on. */
  placementLookInterval: 2_000,
  /** So many positions in one look: more than a merchant's batches commit between two. */
  eventsPerLookMax: 500,
  idempotencyKeyLengthMin: 16,
  idempotencyKeyLengthMax: 255,

  /** Any string up to here is looked up as an ID; ours have 30 or 31 characters. */
  idLengthMax: 64,
  /**
   * What a body may be unless its contract says otherwise. The largest valid product (50 metadata
   * pairs, 5,000 characters of text) fits in UTF-8.
   */
  bodyBytesMax: 64 * 1024,
  /**
   * Larger ones that are read or worked on. Each takes up to 6 MB; a merchant gets half of them
   * while nobody else sends any.
   */
  largeBodiesMax: 24,
  /** The others wait, unread, for so long. A client may send for 15 s. */
  largeBodyWaitMax: 5_000,
  /** No resource nests deeper than 3; 8 leaves room and keeps recursion harmless. */
  jsonDepthMax: 8,
  /**
   * Members and elements of a body, of all its levels. The largest valid one, a PATCH of a product
   * with 100 pairs, has 114. Each may be a fault: the faults of so many fit in 64 KiB and take
   * 2 ms of a processor; 6,600 took 32 ms and 500 KB.
   */
  jsonValuesMax: 160,
  /** Contract of batches. */
  batchItemsMax: 200,
  /** 200 products with all their metadata and more. */
  batchValuesMax: 24_000,
  /** How long a large request is worked on before others have their turn. */
  turnTime: 5,
  /** 100 product filters of 64 characters each, percent-encoded names included, fit in 8 KiB. */
  urlBytesMax: 8 * 1024,
  headerBytesMax: 16 * 1024,
  headerLinesMax: 100,
  /** What the HTTP parser itself takes, above both limits so that we can answer 414 or 431. */
  parserHeaderBytesMax: 32 * 1024,

  /**
   * A terminal signals the whole process group, and npm passes the signal on once more: within this
   * time it is the same one. A later one means "now".
   */
  sameSignalTime: 500,

  /** From when all of a request has come. Longer than any chain of the waits below. */
  requestDeadline: 10_000,
  /** Half of the usual proxy time-out of 30 s; a phone on a bad line sends 64 KiB in less. */
  requestReceiveTimeout: 15_000,
  headersReceiveTimeout: 10_000,
  connectionsCheckInterval: 2_000,
  /** How often the files of a certificate are looked at. A renewal is done days before its end. */
  certificateLookInterval: 10_000,
  /** How often it is asked whether a backup is due, and how long after a failed one the next is. */
  backupLookInterval: 20_000,
  backupRetryInterval: 3_600_000,
  /** Longer than the 60 s after which common proxies drop an idle upstream connection. */
  keepAliveTimeout: 65_000,
  /**
   * A client that does not read its answer is dropped after this, or twice this if it has read some
   * of it. Longer than a request may take: nothing passes over the socket meanwhile.
   */
  socketIdleTimeout: 15_000,
  requestsPerSocketMax: 10_000,
  /** Requests that wait on one connection for those before them; as many as of one merchant. */
  pipelinedMax: 256,
  /** How long a client may still send after an answer that closes the connection. */
  hangUpTimeout: 2_000,
  connectionsMax: 20_000,
  /** File descriptors that are no connection's: two nodes' worth of the database's, and files. */
  descriptorsReserved: 128,
  drainTimeout: 10_000,
  /**
   * So long before its end a node serves on, each answer closing its connection: one that is closed
   * between two requests instead may lose the second. Clients at work were met so 8 times in 3,000.
   */
  noticeTime: 100,
  /** The same for one that another takes the place of: whoever sends something every 3 s is met. */
  replacedNoticeTime: 3_000,
  /** At the end: for notes to be written, when draining has taken all its time. */
  lastNotesTimeout: 500,
  /** At the end: for connections to the database to close. */
  closeTimeout: 500,

  /**
   * idle < lock < statement < request: a frozen owner of a lock is ended by the database before
   * those who wait for it give up. Set on the service's role by the migrations.
   */
  idleInTransactionTimeout: 1_000,
  lockTimeout: 2_000,
  statementTimeout: 3_000,
  /**
   * How old a time must be at which levels are asked for. More than the statement that saves, which
   * reads the time of what it saves, and the wait for COMMIT may take: a second is left for COMMIT.
   */
  asOfAge: 5_000,
  /** A quarter of a year, whichever. */
  daysMax: 92,
  /** Movements that a page of days sums up: a shop with 500 a day has its quarter in one page. */
  movementsSummedMax: 50_000,
  /** Of these at once, so that reads of others come in between: 11 ms. */
  movementsSummedAtOnce: 10_000,
  /**
   * Levels that a page as of a moment looks at. Those made since then are passed over: 2,000 of
   * them took 0.6 ms. And products whose levels a page of what is low judges.
   */
  levelsLookedAtMax: 2_000,
  /**
   * Levels of a location, or products that words find, that a page of stock reads and sorts by
   * quantity: 20,000 took 15 to 61 ms, and 50,000 some 60 or more (docs/decisions/0022).
   */
  stockSortedMax: 20_000,
  /**
   * Beyond the server's own time-outs only a lost network explains silence. A transaction may wait
   * for several locks, one after the other; it is given up with the request.
   */
  connectionSilenceTimeout: 4_000,

  /** Waiting for a pooled connection longer than this means overload: 503. */
  poolAcquireTimeout: 1_000,
  /** But so long while the server is only slow to open one: on a busy machine it takes over 1 s. */
  connectionOpenTimeout: 3_000,
  poolWaitersPerConnectionMax: 64,
  /**
   * Four for each processor and four more, of which one merchant gets half: with three instead of
   * six a merchant alone got 4,400 reads/s out of two processors instead of 5,400. At most so many
   * that two nodes fit into the 100 connections a PostgreSQL server has by default.
   */
  readConnectionsMax: 32,
  connectionLifetimeSeconds: 1_800,

  /** How long a duplicate request waits for the first one with its key. */
  duplicateWait: 2_000,
  /** Contract section 7: so many requests of one merchant are queued before any is refused. */
  queuedPerMerchantMin: 256,
  /** One merchant may queue this many writes, and as many reads, if they can be served in time. */
  queuedPerMerchantMax: 1_024,
  queuedTotalMax: 8_192,
  /** The same in lines, of which a count has 1,000: eight of those, and the next is refused. */
  queuedLinesPerMerchantMax: 8_192,
  /**
   * A read that waited this long for a connection is refused. On two cores a merchant's 256
   * searches of 40 ms pass through its six connections in less.
   */
  readWaitMax: 2_000,
  /** A write beyond the promised that would wait this long is refused. Half of its deadline. */
  queueWaitMax: 5_000,
  /**
   * Workers of one process, each with one connection while it runs a batch. A merchant gets half of
   * them: one batch commits while the next one loads.
   */
  writeWorkers: 4,
  /**
   * So many writes start another batch beside one that runs. With 128, two processors were idle
   * for a third of the time at 64 connections; with 1, batches held ten writes and cost more.
   */
  batchWritesWorthwhile: 16,
  /** A batch that takes longer than this waits for something: others need not wait with it. */
  batchPatience: 25,
  /** Larger batches gain nothing and make everyone in them wait for the slowest. */
  batchWritesMax: 128,
  /** Two counts of 1,000 lines. A write that has more lines than there is room runs next. */
  batchLinesMax: 2_000,
  /**
   * How long parts of a batch wait for locks after the whole batch has waited in vain: the writes
   * that no lock blocks must be found and served before their clients give up.
   */
  rerunLockTimeout: 200,
  /** How long a batch of several merchants waits for a lock before it is split by merchant. */
  sharedLockTimeout: 200,
  /** An attempt of a batch is repeated at most this often with the same operation IDs. */
  batchRetriesMax: 2,

  /** A long delivery note. */
  transferLinesMax: 200,
  /** A few shelves. More than one such count makes a batch of its own. */
  countLinesMax: 1_000,
  /** A line of a count in JSON. */
  countLineBytes: 330,
  /**
   * Faults that an answer names at most: as many as a count has lines. 5,000 empty lines have
   * 10,000, in 800 KB.
   */
  faultsNamedMax: 1_000,
  /** A season. Whatever is put aside for longer is released by somebody. */
  reservationDaysMax: 90,
  /** How soon it is told that a reservation has expired. It counts no more from its moment on. */
  sweepInterval: 1_000,
  /** So many at once; a node tells 20,000 a minute, or so. */
  sweptTogether: 250,

  quantityIntegerDigitsMax: 12,
  quantityDecimalsMax: 5,
  quantityLengthMax: 64,
  amountIntegerDigitsMax: 12,

  /** Contract section 5. A PATCH may name twice as many: it may delete as many as it sets. */
  metadataPairsMax: 50,

  /** Each begins a row. A whole office consents from one address. */
  consentRequestsPerMinute: 300,
  /** Each is a row. One an hour and merchant is what an application needs. */
  applicationTokensPerMinute: 300,
  /** State and challenges are shorter; what is longer would only fill the table. */
  oauthParameterLengthMax: 512,
  /** Clocks may differ; an assertion is used at once. */
  assertionSecondsMax: 600,
  /** A code travels from the browser to the application and back at once. */
  authorizationCodeSeconds: 60,
  /** Time for a person to find a token and decide. */
  consentRequestSeconds: 900,
  /** A person cannot review more check boxes than this; the operator grants further locations. */
  consentLocationsMax: 500,

  tokenDaysDefault: 90,
  tokenDaysMax: 366,
  /** As with commands: a day to bring the new token to where the old one is. */
  overlapHoursDefault: 24,
  overlapHoursMax: 720,
  /** Time to replace a token, with a week away in it. */
  needsDays: 14,
  /** A list of what to do that is longer is not read. */
  needsShown: 100,
  /** A day, and time to take one. */
  backupOldHours: 26,
  /** Time to walk to the person, or to send the link. */
  invitationMinutes: 10,
  /** A working day without a pause of this length. */
  sessionIdleHours: 12,
  /** NIST SP 800-63B. A longer one costs no more time than this. */
  passwordLengthMin: 12,
  passwordLengthMax: 256,
  /** Time to find the finger, or the key. */
  challengeMinutes: 5,
  /** Attestations of some authenticators hold certificates. */
  passkeyAnswerMax: 16_384,
  /** Tries at the password of a name, and the minutes after which one more is allowed. */
  signInTries: 10,
  signInTryMinutes: 1,
  /** From one address: a whole shift signs in from one. */
  signInsPerMinute: 30,
  /** Fine enough to find what is unused, and no more than 4 writes an hour and credential. */
  lastUseGrainMinutes: 15,
  /** Longer than a season, so that a credential for seasonal work is not revoked. */
  unusedCredentialYears: 1,
  /** How long the tokens and codes of OAuth are kept after their end, for a search for a reason. */
  endedTokenDays: 1,

  /** Contract section 7: how many requests are allowed unless the operator sets another limit. */
  credentialRequestsPerMinute: 6_000,
  credentialRequestBurst: 1_000,
  merchantRequestsPerMinute: 30_000,
  merchantRequestBurst: 5_000,
  /**
   * Kinds of denied requests that have lines of their own in the audit trail within a minute, of
   * unknown and of known callers each. The others are counted by their code. Two lines of each
   * kind, of some 490 bytes, are 85 MB a day at most.
   */
  denialLinesPerMinute: 60,
  /** Kinds that are counted separately until the minute is over; some 600 bytes of memory each. */
  denialKindsMax: 1_000,

  /** Bad tokens and client secrets from one address (IPv6: one /64) that are 401 and not 429. */
  failedAuthenticationsPerMinute: 30,
  /** 14 MB. A flood from more addresses than this is not stopped by a limit by address. */
  failingAddressesMax: 100_000,
  /** More than one PostgreSQL server can answer, so a higher limit would limit nothing. */
  requestsPerMinuteMax: 1_000_000,
  requestBurstMax: 1_000_000,
  /**
   * How long a request waits to hear what other nodes admit; then its node decides by itself. A
   * database at hand says it in 1 or 2 ms.
   */
  leaseTimeout: 50,

  /** As many as a consent can grant, and a page of products can name. */
  locationsNamedMax: 100,
  /** More than there are: each may be given once. */
  eventTypesNamedMax: 50,
  /** Each is looked at by every node that delivers. */
  webhooksActiveMax: 100,
  /** Of a merchant, on one node, under way at once: they shall not flood whoever they call. */
  webhookTestsAtOnce: 10,
  /** How long an old secret signs along: receivers are changed one after the other. */
  webhookSecretOverlapHours: 24,
  /** Enough to see what a receiver does; some 20 KB. */
  webhookAttemptsKept: 100,
  /** A process that ended without a word has its webhooks for so long. */
  webhookLease: 10_000,
  /** Whoever is busy renews its lease twice before it ends, should one try fail. */
  webhookLeaseRenewal: 3_000,
  /** How long a commit of another node may go unnoticed. */
  webhookPollInterval: 500,
  /** So many are claimed and saved in one transaction, which others may have to wait for. */
  webhooksPerClaim: 200,
  /** Under way to one receiver. */
  webhookCallsMax: 16,
  /** A receiver that nothing is known of; it has as many as may be after 14 successes. */
  webhookCallsAtFirst: 2,
  /**
   * Under way to all receivers that answer; and as many to those that do not, or failed last. Each
   * holds a socket, and 10 KB of memory.
   */
  webhookCallsOfAllMax: 256,
  /** A call that takes so long is counted with those that fail. */
  webhookCallLong: 1_000,
  /** Events that wait for another attempt; some 20 KB. */
  webhookFailuresMax: 100,
  /** Events that are read together. */
  webhookEventsChosen: 50,
  /** An event that is not sent so soon after it was read is read again. */
  webhookEventAge: 1_000,
  /** So many events are sent beyond one that is still under way: after a crash they come twice. */
  webhookEventsAhead: 1_000,
  /** For a name server to answer; it is asked twice. */
  webhookNameTimeout: 2_000,
  /** While calls are under way, the next few wait for one another for so long. */
  webhookTurnInterval: 10,
  /** At the end, for calls under way: most receivers answer in less. What is cut comes again. */
  webhookStopPatience: 3_000,
  /** How often it is looked whether all calls have ended, at the end. */
  webhookStopLook: 20,
  /** Of one call: name, connection, TLS, answer. A receiver should store the event and answer. */
  webhookCallTimeout: 10_000,
  /** Nobody reads it. A short one is read to its end, so that its connection can be used again. */
  webhookAnswerBytesMax: 64 * 1024,
  /** A receiver may ask for ten minutes: descriptors of so many idle connections would add up. */
  webhookIdleMax: 10_000,
} as const;
