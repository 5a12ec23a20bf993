// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function CountScreen() {
  return <Screen title={texts.count.title}>{texts.nothing}</Screen>;
}
