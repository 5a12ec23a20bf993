// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function MovementsScreen() {
  return <Screen title={texts.movements.title}>{texts.nothing}</Screen>;
}
