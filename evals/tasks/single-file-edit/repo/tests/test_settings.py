import unittest

from gateway import settings


class SettingsTest(unittest.TestCase):
    def test_every_environment_has_the_same_services(self):
        names = [sorted(settings.load(environment)) for environment in settings.ENVIRONMENTS]
        self.assertEqual(names[0], ["accounts", "billing", "billing-export", "catalogue", "search"])
        self.assertEqual(names[1], names[0])
        self.assertEqual(names[2], names[0])

    def test_times_are_seconds(self):
        self.assertEqual(settings.load("production")["search"].timeout, 5)

    def test_what_is_missing_comes_from_the_defaults(self):
        self.assertEqual(settings.load("staging")["accounts"].retries, 2)

    def test_an_unknown_environment_is_refused(self):
        with self.assertRaises(ValueError):
            settings.load("moon")


if __name__ == "__main__":
    unittest.main()
