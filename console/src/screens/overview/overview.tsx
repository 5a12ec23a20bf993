// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function OverviewScreen() {
  return <Screen title={texts.overview.title}>{texts.nothing}</Screen>;
}
