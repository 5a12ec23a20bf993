// Colours and sizes. Mantine's own greys are too light for WCAG 2.2 AA: texts need 4.5 to 1.

import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const harbour: MantineColorsTuple = [
  '#e6f6f8',
  '#d3e9ee',
  '#a5d2db',
  '#74bac8',
  '#4ea6b8',
  '#3599ae',
  '#1f8ba3',
  '#0b7285',
  '#075f70',
  '#03505f',
];

export const theme = createTheme({
  primaryColor: 'harbour',
  primaryShade: { light: 7, dark: 8 },
  colors: { harbour },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily:
    "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  components: {
    // Whoever has no mouse scrolls a wide table with the arrow keys.
    TableScrollContainer: {
      defaultProps: { scrollAreaProps: { viewportProps: { tabIndex: 0 } } },
    },
  },
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.15rem' } },
  },
});

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#4d555d',
    '--mantine-color-placeholder': '#646d75',
    '--mantine-color-error': '#b42318',
    '--mantine-color-anchor': '#085f6f',
    '--mantine-color-body': '#fbfcfd',
    '--mantine-color-orange-light-color': '#9a3412',
    '--mantine-color-teal-light-color': '#05593f',
    '--mantine-color-red-light-color': '#a61e1e',
    '--mantine-color-yellow-light-color': '#7a4a00',
    '--mantine-color-gray-light-color': '#3d444b',
  },
  dark: {
    '--mantine-color-dimmed': '#b4b9be',
    '--mantine-color-placeholder': '#9aa0a6',
    '--mantine-color-error': '#ff9d94',
    '--mantine-color-anchor': '#74c7d8',
  },
});
