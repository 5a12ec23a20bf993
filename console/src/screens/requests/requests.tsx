// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function RequestsScreen() {
  return <Screen title={texts.requests.title}>{texts.nothing}</Screen>;
}
