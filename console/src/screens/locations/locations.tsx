// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function LocationsScreen() {
  return <Screen title={texts.locations.title}>{texts.nothing}</Screen>;
}
