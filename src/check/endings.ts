// How a check or a run ends other than by passing or failing: each with its reason in words.

/** A check that cannot be tried here, with the reason: it neither passes nor fails. */
export class LeftOut extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'LeftOut';
  }
}

/** What a check needs could not be made: the checks of that say more. */
export class NotTried extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'NotTried';
  }
}

/** The run as a whole makes no sense: a wrong address, a token of nobody, a merchant in use. */
export class Unusable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Unusable';
  }
}
