// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function ExchangeScreen() {
  return <Screen title={texts.exchange.title}>{texts.nothing}</Screen>;
}
