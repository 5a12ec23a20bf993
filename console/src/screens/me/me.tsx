// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function MeScreen() {
  return <Screen title={texts.me.title}>{texts.nothing}</Screen>;
}
