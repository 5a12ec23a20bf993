// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function MoveScreen() {
  return <Screen title={texts.move.title}>{texts.nothing}</Screen>;
}
