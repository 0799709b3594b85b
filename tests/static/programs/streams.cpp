// A static object that writes before main, streams of the library of C++, and an object that writes behind main.
#include <fstream>
#include <iostream>
#include <string>

struct Early {
	explicit Early(const char *file) : name(file)
	{
		std::ofstream(name + ".first") << "before main\n";
	}
	~Early()
	{
		std::ofstream(name + ".last") << "behind main\n";
	}
	std::string name;
};

static Early early("early");

int main()
{
	std::ofstream out("numbers");
	for (int i = 0; i < 5000; i++)
		out << i << '\n';
	out.close();
	std::ifstream in("numbers");
	long sum = 0, n;
	while (in >> n)
		sum += n;
	std::cout << sum << std::endl;
	return sum == 12497500 ? 0 : 1;
}
